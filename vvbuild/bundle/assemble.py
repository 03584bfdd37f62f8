"""Putting a bundle together: the frozen program, and the components where the recipe says."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vvbuild.errors import IntegrityError, ManifestError
from vvbuild.fetch.store import link_or_copy, walk
from vvbuild.model.recipe import Placement


def place(
    rows: Iterable[Placement], components: Mapping[str, Sequence[Path]], bundle: Path,
    versions: Mapping[str, str],
) -> list[tuple[Placement, str]]:  # fmt: skip
    """Lay out the components' files as the recipe's rows say; returns what was placed, per row.

    ``components`` holds the directories of each component. Raises :class:`ManifestError` for a
    row that matches nothing (a folder that moved upstream must not give an empty bundle), and
    :class:`IntegrityError` for two different files that want one place.
    """
    placed: list[tuple[Placement, str]] = []
    for row in rows:
        directories = components.get(row.component, ())
        for pattern in row.members:
            wanted = pattern.replace("{version}", versions.get(row.component, ""))
            found = [
                (directory / member, member)
                for directory in directories
                for member in _members(directory, wanted)
            ]
            if not found and not row.optional:
                raise ManifestError(
                    f"The recipe places {wanted!r} of {row.component}, and there is no such file.",
                    context={
                        "looked in": ", ".join(path.name for path in directories) or "nothing"
                    },
                    hint="See what the component holds, and change the row of the recipe.",
                )
            for source, member in found:
                where = _destination(row, member)
                _put(source, bundle / where, where)
                placed.append((row, where))
    return placed


def _members(directory: Path, pattern: str) -> list[str]:
    return [
        relative
        for _, relative, kind in walk(directory)
        if kind != "directory" and fnmatch.fnmatchcase(relative, pattern)
    ]


def _destination(row: Placement, member: str) -> str:
    if not row.to.endswith("/"):
        return row.to
    below = member.rsplit("/", 1)[-1] if row.base is None else member.removeprefix(row.base)
    return ("" if row.to == "./" else row.to) + below


def _put(source: Path, final: Path, where: str) -> None:
    if final.exists() or final.is_symlink():
        raise IntegrityError(
            f"Two files want the place {where!r} in the bundle.", context={"second": source}
        )
    final.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(source, final)


def finished_manifest(data: bytes, *, version: str, command: str) -> bytes:
    """The engine's manifest with the version and the command of this bundle.

    Raises :class:`ManifestError` if it is not a JSON object in UTF-8 without a byte order mark.
    """
    try:
        manifest = json.loads(data.decode("utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError("not an object")
    except ValueError as error:
        raise ManifestError(f"The engine's engine_manifest.json is not valid: {error}.") from error
    manifest["version"] = version
    manifest["command"] = command
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def gather_licences(site_packages: Path, stdlib: Path, bundle: Path) -> int:
    """Copy the licence texts of Python and its packages to ``licenses/python``; count them."""
    count = 0
    own = stdlib / "LICENSE.txt"
    if own.is_file():
        _put(own, bundle / "licenses/python/LICENSE.txt", "licenses/python/LICENSE.txt")
        count += 1
    for info in sorted(site_packages.glob("*.dist-info")):
        package = info.name.removesuffix(".dist-info")
        for path, relative, kind in walk(info):
            name = relative.rsplit("/", 1)[-1].lower()
            if kind == "file" and name.startswith(("licen", "copying", "notice", "authors")):
                where = f"licenses/python/{package}/{relative.removeprefix('licenses/')}"
                if (bundle / where).exists():
                    # Some packages have the same file at both places.
                    where = f"licenses/python/{package}/{relative}"
                _put(path, bundle / where, where)
                count += 1
    return count
