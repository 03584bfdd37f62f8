"""``verify``: rules over the bytes of a directory or an archive."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from vvbuild.bundle.archive.read import unpack_bundle
from vvbuild.errors import UsageError
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules import bundle as _bundle_rules  # noqa: F401 - registers its rules
from vvbuild.rules.registry import judge
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree
from vvbuild.verify.facts import gather_facts


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at, and what the rules say."""

    path: Path
    target: Target | None
    files: int
    findings: tuple[Finding, ...]


def verify_directory(bundle: Path, *, target: Target | None, cancel: Cancel) -> tuple[Finding, ...]:
    """Judge a bundle that is a directory."""
    return judge(gather_facts(bundle, target, cancel))


def verify_path(path: Path, *, target: Target | None, cancel: Cancel) -> Verdict:
    """Judge a directory, a ``.vvpp`` or the first of its parts.

    Raises :class:`UsageError` for a path that is neither.
    """
    if not path.exists():
        raise UsageError(f"There is nothing at {path}.")
    if path.is_dir():
        return _verdict(path, path, target, cancel)
    scratch = Path(tempfile.mkdtemp(prefix="vvbuild-verify-"))
    try:
        unpack_bundle(path, scratch / "bundle", cancel=cancel)
        return _verdict(path, scratch / "bundle", target, cancel)
    finally:
        remove_tree(scratch)


def _verdict(path: Path, bundle: Path, target: Target | None, cancel: Cancel) -> Verdict:
    evidence = gather_facts(bundle, target, cancel)
    return Verdict(path, evidence.target, len(evidence.files), judge(evidence))
