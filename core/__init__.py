"""Headrace's body: a one-way stack in which a module imports only from below (see
docs/design.md)."""
