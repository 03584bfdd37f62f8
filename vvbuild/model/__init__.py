"""Frozen types that every other part speaks in. Nothing here does I/O."""
