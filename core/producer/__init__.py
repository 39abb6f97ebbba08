"""Asks feeds for news by their timetables: `headrace produce`. Reads no feed itself; what it
publishes is read by workers."""
