"""The `headrace` command: one file a command group."""
