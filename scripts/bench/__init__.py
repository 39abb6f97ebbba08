"""Measurements, each beside a bare loop in the same run: machines are noisy, ratios are not."""
