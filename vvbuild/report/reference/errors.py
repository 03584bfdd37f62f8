"""The page of errors and exit statuses."""

from __future__ import annotations

from collections.abc import Iterable

from vvbuild.errors import ExitStatus, VvbuildError
from vvbuild.report.reference.markdown import code, page, prose, table

_INTRO = (
    "Every failure has a code that never changes, and an exit status. A failed command says what "
    "happened, the facts around it, and what to do next; with `--json` that is one document on "
    'standard output: `"ok": false` and `error` with `code`, `exit`, `message`, `context` and '
    "`hint`."
)
_STATUSES = (
    "Status 0: done. Status 1 also ends a command that shows its result and is not content with "
    "it: `verify` with findings of severity error, `smoke` with a failed check. Status 5 ends a "
    "`doctor` that finds nothing that this machine could build."
)


def errors_page(classes: Iterable[type[VvbuildError]]) -> str:
    """Errors grouped by exit status, families before their leaves."""
    groups: dict[ExitStatus, list[type[VvbuildError]]] = {}
    for each in classes:
        groups.setdefault(each.exit_status, []).append(each)
    paragraphs = [_INTRO, _STATUSES]
    for status in ExitStatus:
        if status is ExitStatus.DONE:
            continue
        rows = [(code(each.code), prose(each.__doc__)) for each in groups.get(status, ())]
        paragraphs.append(f"## {int(status)}: {status.name.lower()}")
        paragraphs.append(table(("code", "meaning"), rows) if rows else "No error has it yet.")
    return page("Errors", paragraphs)
