"""site-packages in a normal form: the same packages are the same tree, wherever installed."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

from vvbuild.runtime.files import remove_tree

# What installers note beside a package about this installation: who, from where, when. Nothing
# of it belongs to the package (PEP 376, PEP 610; the last two are uv's own).
_NOTES = frozenset({"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"})


def normalise_site_packages(folder: Path) -> None:
    """Drop what depends on host, directory, user and installer.

    That is: compiled files, notes of the installer, and the lines of each ``RECORD`` about
    files that are not here (scripts, which name their interpreter, and data files, which pip
    puts beside site-packages). Modes become 755 for directories and programs, 644 for the rest.
    """
    for path in list(folder.rglob("__pycache__")):
        remove_tree(path)
    for info in folder.glob("*.dist-info"):
        for name in _NOTES:
            (info / name).unlink(missing_ok=True)
        record = info / "RECORD"
        if record.is_file():
            _normalise_record(record)
    normalise_modes(folder)


def normalise_modes(folder: Path) -> None:
    """755 for directories and for files that their owner may execute, 644 for all others."""
    folder.chmod(0o755)
    for directory, names, files in os.walk(folder):
        for name in names + files:
            path = Path(directory, name)
            if not path.is_symlink():
                executable = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if executable else 0o644)


def environment_packages(site_packages: Path) -> tuple[tuple[str, str], ...]:
    """Names (lower case, with dashes) and versions of the installed packages, sorted."""
    from importlib.metadata import distributions

    from packaging.utils import canonicalize_name

    found = distributions(path=[str(site_packages)])
    return tuple(sorted((canonicalize_name(each.metadata["Name"]), each.version) for each in found))


def contested_files(site_packages: Path) -> dict[str, tuple[str, ...]]:
    """Files that several packages brought with different contents, and those packages.

    Which of them is on the disk depends on the order of installation, and no lock fixes that.
    """
    owners: dict[str, dict[str, str]] = {}
    for record in sorted(site_packages.glob("*.dist-info/RECORD")):
        for path, digest in _record_rows(record.read_text("utf-8")):
            owners.setdefault(path, {})[record.parent.name.removesuffix(".dist-info")] = digest
    return {
        path: tuple(digests)
        for path, digests in owners.items()
        if len(set(digests.values()) - {""}) > 1
    }


def _normalise_record(record: Path) -> None:
    root = record.parent.parent
    with record.open("r", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    kept = sorted(row for row in rows if _is_below(row[0]) and (root / row[0]).is_file())
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(kept)
    record.write_bytes(text.getvalue().encode("utf-8"))


def _is_below(name: str) -> bool:
    path = Path(os.path.normpath(name))
    return not path.is_absolute() and path.parts[:1] != ("..",)


def _record_rows(text: str) -> Iterator[tuple[str, str]]:
    for row in csv.reader(io.StringIO(text, newline="")):
        if len(row) >= 2:
            yield row[0], row[1]
