"""What can go wrong in the sample engine."""

from __future__ import annotations


class StartError(Exception):
    """The engine cannot start; the message tells the user why."""


class QueryError(Exception):
    """A request that is well-formed but asks for what this engine cannot make."""


class StoppingError(Exception):
    """The engine is about to end and takes no more work."""


class AbandonedError(Exception):
    """The client went away before its sound was ready."""
