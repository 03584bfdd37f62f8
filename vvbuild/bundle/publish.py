"""Putting finished archives where the user wants them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import OutputNotOursError, StoreCorruptError
from vvbuild.fetch.store import Store, copy_file
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Entry
from vvbuild.pipeline.step import Made
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import current_umask, hash_file, write_atomically

SUMS = "SHA256SUMS"
# Tells that a directory is ours to write into; a foreign one is never touched.
_MARK = ".vvbuild-out"
_PART_NUMBER = re.compile(r"\.[0-9]+(?=\.vvppp$)|(?<=\.7z)\.[0-9]+$")
_MARK_TEXT = b"vvbuild writes archives into this directory.\n"


@dataclass(frozen=True, slots=True)
class Published:
    """A file in the output directory."""

    path: Path
    size: int
    sha256: Digest


def claim_directory(out: Path) -> None:
    """Make the output directory ours, or raise :class:`OutputNotOursError`.

    Called before any work, so that nobody waits for minutes to learn it.
    """
    if out.exists() and not out.is_dir():
        raise OutputNotOursError(f"{out} is a file.", hint="Name another directory with --out.")
    # The mark is looked for again: another process may be claiming the directory right now.
    if not _is_ours(out) and _holds_foreign_files(out) and not _is_ours(out):
        raise OutputNotOursError(
            f"{out} holds files that vvbuild did not write; nothing was changed.",
            hint="Name an empty or a new directory with --out.",
        )
    out.mkdir(parents=True, exist_ok=True)
    # Written each time: whether we may write here at all is better known before the work.
    write_atomically(out / _MARK, _MARK_TEXT)


def _is_ours(out: Path) -> bool:
    return (out / _MARK).is_file()


def _holds_foreign_files(out: Path) -> bool:
    """Whether anything lies there but the beginnings of our own mark."""
    return out.is_dir() and any(not each.name.startswith(f".{_MARK}.") for each in out.iterdir())


def publish(made: Iterable[Made], store: Store, out: Path, cancel: Cancel) -> list[Published]:
    """Copy the files of steps to ``out`` and write ``SHA256SUMS`` for all that lies there.

    A file that is there already with the right bytes stays. What is written is a copy: nobody's
    later edit reaches back into the store. Parts that an earlier, larger build of the same
    archive has left are removed: whoever joins all parts would join them, too. Runs that write
    to one directory take turns, so that each one's sums are kept.
    """
    with store.exclusive(Digest.of_bytes(os.fsencode(out.resolve())), cancel):
        for dead in out.glob(".*.part"):
            dead.unlink(missing_ok=True)
        files = [
            _publish_file(entry, store, out, cancel)
            for each in made
            for entry in each.tree.entries
            if entry.digest is not None
        ]
        _remove_stale_parts(out, {file.path.name for file in files})
        _write_sums(out, files)
    return files


def _remove_stale_parts(out: Path, fresh: set[str]) -> None:
    archives = {_archive_of(name) for name in fresh}
    for name, _ in list(_read_sums(out)):
        if name not in fresh and _archive_of(name) in archives:
            (out / name).unlink(missing_ok=True)


def _archive_of(name: str) -> str:
    """What all parts of one archive have in common: their name without the number."""
    return _PART_NUMBER.sub("", name).replace(".vvppp", ".vvpp")


def _publish_file(entry: Entry, store: Store, out: Path, cancel: Cancel) -> Published:
    assert entry.digest is not None
    cancel.check()
    final = out / entry.path
    published = Published(final, entry.size, entry.digest)
    if _is_regular(final, entry.size) and hash_file(final, cancel) == entry.digest:
        return published
    fresh = out / f".{entry.path}.part"
    try:
        copy_file(store.file_path(entry.digest, entry.kind), fresh)
        if hash_file(fresh, cancel) != entry.digest:
            store.verified_file(entry.digest, entry.kind)
            raise StoreCorruptError(f"{entry.path} changed while it was copied. Run it again.")
        fresh.chmod(0o666 & ~current_umask())
        fresh.replace(final)
    finally:
        fresh.unlink(missing_ok=True)
    return published


def _is_regular(path: Path, size: int) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size == size


def _write_sums(out: Path, files: list[Published]) -> None:
    """One line a file; lines of other targets' files that are still there are kept."""
    lines = dict(_read_sums(out))
    lines |= {file.path.name: file.sha256.hex for file in files}
    text = "".join(
        f"{digest}  {name}\n" for name, digest in sorted(lines.items()) if (out / name).is_file()
    )
    path = out / SUMS
    if not _is_regular(path, len(text.encode())) or path.read_bytes() != text.encode():
        write_atomically(path, text.encode())


def _read_sums(out: Path) -> Iterable[tuple[str, str]]:
    try:
        text = (out / SUMS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        if len(digest) == 64 and name:
            yield name, digest
