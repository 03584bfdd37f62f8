"""One view a command: its result as blocks and as data."""
