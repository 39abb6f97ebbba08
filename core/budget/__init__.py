"""The token bucket by source: a strategy and storages on the `limits` library."""
