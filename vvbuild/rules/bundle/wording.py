"""One finding for one cause, however many files show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vvbuild.model.finding import Severity
from vvbuild.rules.registry import Found


def listed(names: Iterable[str]) -> str:
    """Names in order, each once, as evidence has them."""
    return ", ".join(sorted(dict.fromkeys(names)))


def together(
    paths: Sequence[str],
    one: str,
    many: str,
    *,
    severity: Severity | None = None,
    **evidence: str,
) -> Found:
    """A finding about one file, or about several of the same fault; ``many`` has a ``{n}``.

    Its path is the first file's; where there are more, ``files`` of its evidence names them all.
    """
    ordered = sorted(paths)
    if len(ordered) > 1:
        evidence = {"files": ", ".join(ordered), **evidence}
    message = one if len(ordered) == 1 else many.replace("{n}", str(len(ordered)))
    return Found(message, ordered[0], evidence, severity)
