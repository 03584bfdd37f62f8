"""What a downloader left, held against the lock; and its damage undone by the same table."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.errors import (
    DigestMismatchError,
    IntegrityError,
    MemberMissingError,
    SizeMismatchError,
    StrangerError,
    VvbuildError,
)
from vvbuild.fetch.disguise import disguise_by_head
from vvbuild.fetch.downloader.command import Invocation
from vvbuild.fetch.downloader.request import Delivery, DownloadRequest
from vvbuild.fetch.store import FIXED_TIME
from vvbuild.fetch.unpack.globs import MemberGlobs
from vvbuild.fetch.unpack.names import Selection
from vvbuild.model.digest import Digest
from vvbuild.model.downloader import Contract
from vvbuild.model.locked import Member
from vvbuild.model.tree import Entry, Tree
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree

_SHOWN = 20
_THREADS = 4
_LINKS_KEPT = os.utime in os.supports_follow_symlinks


@dataclass
class Verdict:
    """Everything that is wrong with an output, each by its path in it.

    ``pages`` are files that are an error page of a server; ``short`` those that were cut off.
    """

    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)

    @property
    def passing(self) -> bool:
        """Whether all of it can come from a bad line: another run may go better."""
        wrong = [*self.changed, *self.resized]
        explained = {*self.pages, *self.short}
        return not self.strangers and all(path in explained for path in wrong)

    def error(self, subject: str) -> VvbuildError | None:
        """One error of the gravest kind that names them all; ``None`` if nothing is wrong."""
        kinds: list[tuple[type[VvbuildError], str, list[str]]] = [
            (DigestMismatchError, "changed", self.changed),
            (SizeMismatchError, "of another size", self.resized),
            (StrangerError, "not in the lock", self.strangers),
            (MemberMissingError, "missing", self.missing),
        ]
        found = [(kind, word, paths) for kind, word, paths in kinds if paths]
        if not found:
            return None
        counts = ", ".join(f"{len(paths)} {word}" for _, word, paths in found)
        return found[0][0](
            f"What the core's downloader left of {subject} is not what the lock says: {counts}.",
            context={word: _named(paths) for _, word, paths in found},
            hint="None of it was kept. If upstream has published other files under the same "
            "names, find out why before you run `vvbuild lock`.",
        )


def _named(paths: list[str]) -> str:
    more = f" … and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


@dataclass(frozen=True, slots=True)
class _Expected:
    """A file or link: of which component, and where in its tree."""

    component: str
    path: str
    member: Member


def expect(invocation: Invocation, request: DownloadRequest) -> dict[str, _Expected]:
    """Path in the output → what the lock says of it, for all that a run brings.

    Raises :class:`~vvbuild.errors.HostileArchiveError` for a list that could lead outside, and
    :class:`IntegrityError` for two components that claim the same path.
    """
    found: dict[str, _Expected] = {}
    for component in invocation.components:
        selection = Selection(f"the lock's list of {component}")
        folder = invocation.folders[component]
        for path, member in request.parts[component].members.items():
            kind = "link" if member.link is not None else "file"
            if selection.admit(path, kind) != path:  # type: ignore[arg-type]
                selection.refuse(path, "is not written as it would lie on a disk")
            if member.link is not None:
                selection.check_link(path, path, member.link)
            where = f"{folder}/{path}" if folder else path
            if where in found:
                raise IntegrityError(
                    f"{where} belongs to {found[where].component} and to {component}; this "
                    "downloader puts both into one directory.",
                    hint="`--fetcher direct` keeps them apart.",
                )
            found[where] = _Expected(component, path, member)
    return found


def check(
    output: Path,
    expected: Mapping[str, _Expected],
    invocation: Invocation,
    contract: Contract,
    cancel: Cancel,
) -> Verdict:
    """Hold every file below ``output`` against the lock; nothing is changed or followed."""
    verdict = Verdict()
    links_kept = contract.generation.damage.links == "kept"
    unasked = MemberGlobs(invocation.also_leaves) if invocation.also_leaves else None
    files: list[str] = []
    seen: set[str] = set()
    for path, kind, target in _walk(output, ""):
        seen.add(path)
        wanted = expected.get(path)
        if wanted is None:
            if unasked is None or kind != "file" or not unasked.match(path, is_directory=False):
                verdict.strangers.append(path if kind == "file" else f"{path} ({kind})")
        elif wanted.member.link is not None:
            if kind != "link" or target != wanted.member.link or not links_kept:
                verdict.strangers.append(f"{path} ({kind})")
        elif kind != "file":
            verdict.strangers.append(f"{path} ({kind})")
        else:
            files.append(path)
    verdict.missing += _missing(expected, seen, links_kept=links_kept)
    _check_bytes(output, files, expected, verdict, cancel)
    return verdict


def _missing(
    expected: Mapping[str, _Expected], seen: set[str], *, links_kept: bool
) -> Iterator[str]:
    for path, wanted in expected.items():
        if path not in seen and (wanted.member.link is None or links_kept):
            yield path


def _walk(directory: Path, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Path, kind and, for a link, what it says, of everything but plain directories."""
    with os.scandir(directory) as scan:
        members = sorted(scan, key=lambda member: os.fsencode(member.name))
    for member in members:
        path = f"{prefix}{os.fsencode(member.name).decode('utf-8', 'backslashreplace')}"
        facts = os.stat(member.path, follow_symlinks=False)  # noqa: PTH116 - Windows' entries know no links
        mode = facts.st_mode
        if stat.S_ISDIR(mode):
            yield from _walk(Path(member.path), f"{path}/")
        elif stat.S_ISLNK(mode):
            yield path, "link", Path(member.path).readlink().as_posix()
        elif stat.S_ISREG(mode):
            # Another name of the same file would be a way to change it later.
            yield path, "file" if facts.st_nlink == 1 else "hard link", ""
        else:
            yield path, "device", ""


def _check_bytes(
    output: Path,
    files: list[str],
    expected: Mapping[str, _Expected],
    verdict: Verdict,
    cancel: Cancel,
) -> None:
    whole = []
    for path in files:
        size, wanted = (output / path).stat().st_size, expected[path].member.size
        if size == wanted:
            whole.append(path)
            continue
        verdict.resized.append(path)
        if _is_page(output / path):
            verdict.pages.append(path)
        elif size < wanted:
            verdict.short.append(path)
    with ThreadPoolExecutor(_THREADS) as pool:
        digests = pool.map(lambda path: hash_file(output / path, cancel), whole)
        for path, digest in zip(whole, digests, strict=True):
            if digest.hex != expected[path].member.sha256:
                verdict.changed.append(path)


def _is_page(path: Path) -> bool:
    with path.open("rb") as stream:
        return disguise_by_head("", stream.read(512)) is not None


def gather(
    output: Path, expected: Mapping[str, _Expected], invocation: Invocation, into: Path
) -> list[Delivery]:
    """Move what was verified to ``into/<component>``, with the links and execute bits restored."""
    entries: dict[str, list[Entry]] = {name: [] for name in invocation.components}
    for component in entries:
        remove_tree(into / component)
    for where, wanted in expected.items():
        entries[wanted.component].append(
            _place(output / where, into / wanted.component, wanted.path, wanted.member)
        )
    deliveries = []
    for component, found in entries.items():
        directory = into / component
        directory.mkdir(parents=True, exist_ok=True)
        deliveries.append(Delivery(component, directory, Tree.of(found)))
    return deliveries


def _place(source: Path, root: Path, path: str, member: Member) -> Entry:
    final = root / path
    final.parent.mkdir(parents=True, exist_ok=True)
    if member.link is not None:
        final.symlink_to(member.link)
        if _LINKS_KEPT:
            os.utime(final, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
        return Entry(path, "link", link=member.link)
    source.replace(final)
    final.chmod(0o755 if member.program else 0o644)
    os.utime(final, (FIXED_TIME, FIXED_TIME))
    assert member.sha256 is not None
    kind = "program" if member.program else "file"
    return Entry(path, kind, Digest(member.sha256), member.size)  # type: ignore[arg-type]
