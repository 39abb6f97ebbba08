"""What is open just now: leases, attempts, serials, delays. May be lost at the cost of a few
repeated requests."""
