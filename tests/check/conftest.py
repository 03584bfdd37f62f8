"""Releases as packaged, and copies of them with a few lines more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest

from tests.cli.conftest import alone, say  # noqa: F401 - fixtures of the command line
from vvbuild.check.overrides import parse_override
from vvbuild.check.run import CheckedRelease, check
from vvbuild.manifest.release import LoadedRelease, find_release, load_release
from vvbuild.manifest.targets import find_target
from vvbuild.model.finding import Finding

TODAY = date(2026, 11, 30)


def checked(
    release: LoadedRelease | str,
    *,
    set: Sequence[str] = (),  # noqa: A002 - as the option is called
    targets: Sequence[str] = (),
    today: date = TODAY,
) -> CheckedRelease:
    """One release, judged as the command does."""
    loaded = find_release(release) if isinstance(release, str) else release
    result = check(
        [loaded],
        today=today,
        targets=tuple(find_target(name) for name in targets),
        overrides=[parse_override(text) for text in set],
    )
    return result.releases[0]


def of(each: CheckedRelease, rule: str) -> list[Finding]:
    """The findings of a rule."""
    return [finding for finding in each.findings if finding.rule == rule]


def errors(each: CheckedRelease) -> set[str]:
    """The rules whose errors nobody waived."""
    return {
        finding.rule
        for finding in each.findings
        if finding.severity == "error" and finding.waived is None
    }


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    """Write a manifest that extends a packaged release; ``lines`` stand below its head."""

    def manifest(lines: str = "", *, extends: str = "main", name: str = "mine") -> Path:
        head = 'schema = "vvbuild.release/1"\n'
        head += f'name = "{name}"\nsummary = "One to try"\nextends = "{extends}"\n'
        path = tmp_path / f"{name}.toml"
        path.write_bytes((head + lines).encode())
        return path

    return manifest


@pytest.fixture
def release(manifest: Callable[..., Path]) -> Callable[..., LoadedRelease]:
    """Such a manifest, loaded."""

    def release(lines: str = "", **options: str) -> LoadedRelease:
        return load_release(manifest(lines, **options))

    return release
