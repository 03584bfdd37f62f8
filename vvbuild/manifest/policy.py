"""Loading ``manifests/policy.toml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from vvbuild import resources
from vvbuild.manifest.decode import Problem, decode, read_document
from vvbuild.model.policy import ComponentPolicy, Policy, parse_age
from vvbuild.model.reference import Reference, Source
from vvbuild.model.version import clauses

VERSION = "{version}"
# Stands for the version where a template is read as a reference.
_SENTINEL = "0VERSION0"
_FOLLOWED = re.compile(r"(?:pypi|npm):[^/].*")


@resources.cached
def update_policy() -> Policy:
    """The policy, read once. Raises :class:`~vvbuild.errors.ManifestError`."""
    return load_policy(resources.manifest_file("policy.toml"))


def load_policy(path: Path) -> Policy:
    """Load and check a policy.

    Raises :class:`~vvbuild.errors.ManifestError` that names file, line and what was expected.
    """
    document = read_document(path)
    policy = decode(document, Policy)
    problems = list(_problems(policy))
    if problems:
        raise document.error(problems)
    return policy


def read_template(text: str) -> Reference:
    """A reference with ``{version}`` in it; ``ValueError`` for one that is none.

    The parts of the answer hold the placeholder where the text has it.
    """
    if _SENTINEL in text:
        raise ValueError(f"expected a reference, got {text!r}")
    found = Reference.parse(text.replace(VERSION, _SENTINEL), allow_local=True)
    parts = (found.project, found.version, found.file)
    project, version, file = (part.replace(_SENTINEL, VERSION) for part in parts)
    return Reference(found.source, project, version, file)


def followed(text: str) -> tuple[Source, str, str]:
    """Source, project and the form of its tags of a policy's ``follows``.

    Raises ``ValueError`` that says what was expected.
    """
    expected = "expected github:owner/repo@{version}, pypi:project or npm:package"
    tail = "/file" if text.startswith(("github:", "pypi:")) else ""
    middle = f"/{VERSION}" if _FOLLOWED.fullmatch(text) else ""
    try:
        found = read_template(f"{text}{middle}{tail}")
    except ValueError:
        raise ValueError(f"{expected}, got {text!r}") from None
    if found.source not in ("github", "pypi", "npm") or VERSION not in found.version:
        raise ValueError(f"{expected}, got {text!r}")
    if VERSION in found.project:
        raise ValueError(f"{expected}, got {text!r}")
    return found.source, found.project, found.version


def _problems(policy: Policy) -> Iterator[Problem]:
    yield from _complaint(("default", "min_age"), parse_age, policy.default.min_age)
    for name, row in policy.components.items():
        for key, message in _row_problems(row):
            yield ("components", name, *key), message
    for index, group in enumerate(policy.together):
        if len(group.components) < 2:
            yield ("together", index, "components"), "expected two components or more"
        if len(set(group.components)) < len(group.components):
            yield ("together", index, "components"), "a component stands twice"


def _row_problems(row: ComponentPolicy) -> Iterator[tuple[tuple[str, ...], str]]:
    if row.min_age is not None:
        yield from _complaint(("min_age",), parse_age, row.min_age)
    if row.held is not None:
        yield from _complaint(("held", "version"), clauses, row.held.version)
    if row.follows is not None:
        yield from _complaint(("follows",), followed, row.follows)
        if row.not_followed is not None:
            yield ("not_followed",), "cannot stand beside 'follows'"


def _complaint(
    where: tuple[str, ...], check: Callable[[str], object], text: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    try:
        check(text)
    except ValueError as error:
        yield where, str(error)
