"""Names that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(wanted: str, names: Iterable[str], count: int = 5) -> str:
    """The few names that look most like the wanted one, as words for an error."""
    import difflib

    def likeness(name: str) -> float:
        return difflib.SequenceMatcher(None, wanted, name).ratio()

    ranked = sorted(dict.fromkeys(names), key=likeness, reverse=True)
    more = f" and {len(ranked) - count} more" if len(ranked) > count else ""
    return ", ".join(ranked[:count]) + more
