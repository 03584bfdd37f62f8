"""Changes to the files of a bundle, each recorded with its digest before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf import is_elf, read_elf
from vvbuild.fetch.store import copy_file, walk
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.runtime.process import run


@dataclass(frozen=True, slots=True)
class Transform:
    """One change: ``what`` was set to ``value`` in the file at ``path``."""

    path: str
    what: str
    value: str
    before: Digest
    after: Digest

    def as_json(self) -> dict[str, str]:
        """The form in ``vvbuild.json``."""
        return {
            "path": self.path,
            "what": self.what,
            "value": self.value,
            "before": self.before.hex,
            "after": self.after.hex,
        }


def set_soname(
    bundle: Path, path: str, soname: str, patchelf: Path, work: Path, cancel: Cancel
) -> Transform:
    """Give a Linux library the name under which others ask for it.

    Writes a new file and renames it: the old one may be a hard link into the store.
    """
    library = bundle / path
    before = hash_file(library)
    fresh = work / "soname"
    copy_file(library, fresh)
    fresh.chmod(0o644)
    run([patchelf, "--set-soname", soname, fresh], cancel=cancel)
    fresh.replace(library)
    return Transform(path, "soname", soname, before, hash_file(library))


def clean_search_paths(
    bundle: Path, patchelf: Path, work: Path, cancel: Cancel
) -> Iterator[Transform]:
    """Take out of Linux libraries the folders of the machine that built them.

    Python's own modules look where that Python was installed; on a user's machine anybody may
    have put something there. What counts from the library's own place (``$ORIGIN``) stays.
    """
    for path, relative, kind in walk(bundle):
        if kind not in ("file", "program") or not is_elf(path):
            continue
        facts = read_elf(path)
        entries = facts.runpath or facts.rpath
        kept = [each for each in entries if each.startswith(("$ORIGIN", "${ORIGIN}"))]
        if len(kept) == len(entries):
            continue
        before, fresh = hash_file(path), work / "search-path"
        copy_file(path, fresh)
        fresh.chmod(0o644)
        change = ["--set-rpath", ":".join(kept)] if kept else ["--remove-rpath"]
        run([patchelf, *change, fresh], cancel=cancel)
        fresh.chmod(path.stat().st_mode & 0o777)
        fresh.replace(path)
        yield Transform(relative, "search path", ":".join(kept) or "none", before, hash_file(path))


def replace_file(bundle: Path, path: str, data: bytes, what: str, value: str) -> Transform:
    """Put new content at ``path`` without writing through a hard link."""
    final = bundle / path
    before = hash_file(final)
    fresh = final.with_name(f".{final.name}.new")
    fresh.write_bytes(data)
    fresh.chmod(0o644)
    fresh.replace(final)
    return Transform(path, what, value, before, hash_file(final))
