"""Findings as JSON."""

from __future__ import annotations

from dataclasses import asdict

from vvbuild.model.finding import Finding


def finding_as_json(finding: Finding) -> dict[str, object]:
    """The form in ``--json`` output and in the records of steps."""
    return asdict(finding)


def finding_from_json(row: dict[str, object]) -> Finding:
    """Read what :func:`finding_as_json` wrote."""
    return Finding(**row)  # type: ignore[arg-type]
