"""What a source may say to one question beside a page: of that one thing, or of itself. The two are
kept apart, so that a test can tell a page that was lost for one thing from one that had to be."""

from __future__ import annotations

from core import errors

# What a fetch raises.
OF_ONE = (
    errors.Gone("404", http_status=404),
    errors.Gone("410", http_status=410),
    errors.Forbidden("403", http_status=403),
    errors.Forbidden("451", http_status=451),
    errors.Permanent("400", reason="client_error", http_status=400),
    errors.TooLarge("64 MiB"),
    errors.AddressRefused("10.0.0.1"),
    errors.Refused("9 redirects", reason="too_many_redirects"),
    errors.ServerTrouble("500", http_status=500),
    errors.Truncated("cut"),
    errors.EmptyBody("200 without a byte"),
)
OF_THE_SOURCE = (
    errors.Throttled("429", http_status=429),
    errors.SignedOut("401", http_status=401),
    errors.SourceBlocked("shut"),
    errors.SourcePaused("paused"),
    errors.HostBusy("busy"),
    errors.BudgetSpent("spent"),
    errors.Timeout("slow"),
    errors.Unreachable("reset"),
    errors.Offline("away"),
    errors.SharedStateDown("redis"),
    errors.StorageDown("full"),
    errors.OutOfResources("memory"),
)
HTML = "<!DOCTYPE html><html><head><title>x</title></head><body>{}</body></html>"
