"""Builders: a valid task, with what the test cares about named."""

from __future__ import annotations

from typing import Any

from core.model.ids import media_id
from core.model.post import MediaKind
from core.model.task import (
    DiscoverPayload,
    FragmentPayload,
    ImagePayload,
    Task,
    VerifyPayload,
    discover_task,
    fragment_task,
    media_task,
    verify_task,
)
from core.steps.run import Run


def an_image_payload(url: str = "https://pictures.example/1.jpg", **fields: Any) -> ImagePayload:
    defaults = {
        "media": media_id(fields.pop("source", "feed"), url),
        "media_kind": MediaKind.IMAGE,
        "post": "p" * 32,
        "feed": "f" * 16,
    }
    return ImagePayload(url=url, **(defaults | fields))


def an_image_task(
    url: str = "https://pictures.example/1.jpg", *, source: str = "feed", **fields: Any
) -> Task:
    payload = fields.pop("payload", None) or an_image_payload(url, source=source)
    return media_task(source, payload).model_copy(update=fields)


def a_run(task: Task, token: str = "t", of: type[Run] = Run) -> Run:
    """A run whose lease is not renewed and whose tokens nobody hears of."""
    return of(task, token, renew_until=1e12, granted=lambda _prompt: None)


def a_discover_task(*, source: str = "feed", **fields: Any) -> Task:
    payload = DiscoverPayload(
        **(
            {
                "feed": "f" * 16,
                "adapter": "rss",
                "address": "https://feeds.example/rss.xml",
                "walk": "w1",
            }
            | fields
        )
    )
    return discover_task(source, payload)


def a_fragment_task(media: str = "m" * 32, piece: int = 0, *, source: str = "feed") -> Task:
    """One of three pieces of a video."""
    url = f"https://videos.example/{piece}.ts"
    return fragment_task(source, FragmentPayload(media=media, piece=piece, pieces=3, url=url))


def a_verify_task(media: str = "m" * 32, *, source: str = "feed", **fields: Any) -> Task:
    return verify_task(source, VerifyPayload(media=media)).model_copy(update=fields)
