"""A change of pins that a rule objects to, found by trying what tables and releases know."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from vvbuild.check.overrides import Override, with_overrides
from vvbuild.check.run import pin_evidence
from vvbuild.errors import UsageError
from vvbuild.explain.judging import oldest
from vvbuild.explain.pinned import all_releases
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import official_targets
from vvbuild.model.release import ComponentName
from vvbuild.model.target import Target
from vvbuild.rules.pin_evidence import PinEvidence
from vvbuild.rules.registry import Rule

# The newest releases tell of today; older eras have parts that these have not.
_RELEASES = 8


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A command that a reader can run, and what the rule says then."""

    command: str
    message: str


def counterexample(rule: Rule) -> Counterexample | None:
    """The first change that the rule objects to; ``None`` where none was found."""
    if PinEvidence not in rule.checks:
        return None
    releases = newest_releases()[:_RELEASES]
    changes = [None, *_changes()]
    tries = ((release, change) for change in changes for release in releases)
    for release, change in tries:
        found = _tried(rule, release, change)
        if found is not None:
            return found
    return None


def newest_releases() -> list[LoadedRelease]:
    """Final releases before others, the newest first."""
    return sorted(
        all_releases(),
        key=lambda each: (each.name == each.row.engine.version, each.epoch),
        reverse=True,
    )


def _tried(rule: Rule, release: LoadedRelease, change: Override | None) -> Counterexample | None:
    try:
        row = with_overrides(release.row, [] if change is None else [change])
    except UsageError:
        # That release has no such component, or another one provides it.
        return None
    for target in _targets(release, change):
        for found in rule.checks[PinEvidence](pin_evidence(row, target)):
            words = ["vvbuild", "check", "--release", release.name, "--target", str(target)]
            words += [] if change is None else ["--set", _spelled(change)]
            return Counterexample(shlex.join(words), found.message)
    return None


def _spelled(change: Override) -> str:
    flavour = f"{change.flavour}:" if change.flavour else ""
    return f"{change.component}={flavour}{change.version}"


def _targets(release: LoadedRelease, change: Override | None) -> tuple[Target, ...]:
    """All official ones where nothing is changed: a target may be what is wrong."""
    return release.targets if change is not None else tuple(official_targets())


def _changes() -> Iterator[Override]:
    for component, versions in _known_versions().items():
        for version in versions:
            yield Override(component, version)
    for row in compat_tables().onnxruntime.cuda:
        yield Override("onnxruntime", oldest(row.versions), row.flavour)


def _known_versions() -> dict[ComponentName, list[str]]:
    """Versions that tables or releases tell of, newest first."""
    tables = compat_tables()
    versions: dict[ComponentName, dict[str, None]] = {
        "core": dict.fromkeys(oldest(row.versions) for row in tables.core.core),
        "models": dict.fromkeys(oldest(row.versions) for row in tables.models.models),
        "onnxruntime": dict.fromkeys(oldest(row.versions) for row in tables.onnxruntime.cuda),
        "additional-libraries": dict.fromkeys(r.version for r in tables.libraries.libraries),
        "pyinstaller": dict.fromkeys(
            oldest(row.versions) for row in tables.pyinstaller.pyinstaller
        ),
        "python": {"3.8.10": None},
    }
    for row in tables.troubles.trouble:
        versions.setdefault(row.component, {})[oldest(row.versions)] = None
    for release in all_releases():
        for component, pin in release.row.components.items():
            versions.setdefault(component, {})[pin.version] = None
    return {component: list(reversed(found)) for component, found in versions.items()}
