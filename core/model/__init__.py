"""The nouns: posts, media, tasks, ends. Values and pure functions; no I/O, no clock."""
