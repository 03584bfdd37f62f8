"""A bundle to be judged: a directory, or an archive with what it says of its members."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.archives.kinds import kind_of
from vvbuild.bundle.archive.read import find_parts
from vvbuild.errors import IntegrityError, UsageError, from_os_error
from vvbuild.fetch.unpack import unpack
from vvbuild.manifest.targets import official_targets
from vvbuild.model.target import Target
from vvbuild.rules.data import PackedFacts
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree
from vvbuild.verify.listing import Listed, list_members

_VVPP = re.compile(r"(?P<stem>.+)(\.vvpp|\.[0-9]+\.vvppp)")
_SEVEN = re.compile(r"(?P<stem>.+)\.7z(\.[0-9]+)?")
_SEVEN_PART = re.compile(r"(?P<stem>.+\.7z)\.(?P<number>[0-9]{3,})")
_MOST_LIST_BYTES = 1 << 20
_CHUNK = 8 << 20

FindSevenZip = Callable[[], Path]


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a bundle's files lie, and what an archive says of them beside."""

    directory: Path
    members: Mapping[str, Listed] | None = None
    packed: PackedFacts | None = None
    named: Target | None = None


@contextmanager
def opened(
    path: Path, *, cancel: Cancel, seven_zip: FindSevenZip, scratch: Path | None = None
) -> Iterator[Opened]:
    """Open a directory, a ``.vvpp``, one of several parts, a ``.7z`` or a tar.

    Of an archive the files are unpacked below ``scratch`` until the block ends, but no links:
    those may lead anywhere. ``seven_zip`` finds the program where it is needed. Raises
    :class:`UsageError` where nothing is, :class:`IntegrityError` for parts that are missing, and
    :class:`HostileArchiveError` for an archive that cannot be read.
    """
    if not path.exists():
        raise UsageError(f"There is nothing at {path}.")
    if path.is_dir():
        yield Opened(path)
        return
    room = Path(tempfile.mkdtemp(prefix="vvbuild-verify-", dir=scratch))
    try:
        yield _unpacked(path, room, cancel, seven_zip)
    except OSError as error:
        raise from_os_error(error, f"unpack {path.name}") from error
    finally:
        remove_tree(room)


def target_in(name: str) -> Target | None:
    """The target that an archive is called after, in any spelling."""
    spellings = {
        spelling: target
        for target, row in official_targets().items()
        for spelling in (str(target), row.upstream, *row.aliases)
    }
    for spelling in sorted(spellings, key=len, reverse=True):
        if re.search(rf"(^|[-_]){re.escape(spelling)}([-_.]|$)", name):
            return spellings[spelling]
    return None


def _unpacked(path: Path, room: Path, cancel: Cancel, find: FindSevenZip) -> Opened:
    parts = _parts(path)
    whole = parts[0]
    if len(parts) > 1 and _SEVEN_PART.fullmatch(whole.name) is None:
        whole = _joined(parts, room / "whole", cancel)
    kind = kind_of(whole)
    program = find() if kind in ("7z", "zst") else None
    members = list_members(whole, seven_zip=program, cancel=cancel)
    links = {each.path for each in members.values() if each.link is not None}
    unpack(
        whole, room / "bundle", only=lambda name: name not in links, seven_zip=program,
        cancel=cancel,
    )  # fmt: skip
    packed = PackedFacts(
        "vvpp" if _VVPP.fullmatch(path.name) else kind if kind in ("zip", "7z") else "tar",
        {part.name: part.stat().st_size for part in parts},
        keeps_modes=any(each.mode is not None for each in members.values()),
        unmarked_names=tuple(each.path for each in members.values() if not each.marked),
        listed=_listed(path),
        rivals=_rivals(path, parts),
    )
    return Opened(room / "bundle", members, packed, target_in(path.name))


def _parts(path: Path) -> list[Path]:
    """All parts of an archive, in order. Raises :class:`IntegrityError` for gaps."""
    own = _SEVEN_PART.fullmatch(path.name)
    if own is None:
        return find_parts(path)
    found: dict[int, Path] = {}
    for each in path.parent.iterdir():
        part = _SEVEN_PART.fullmatch(each.name)
        if part is not None and part["stem"] == own["stem"]:
            found[int(part["number"])] = each
    for number in range(1, max(found) + 1):
        if number not in found:
            raise IntegrityError(
                f"Part {number} of {own['stem']} is missing.",
                context={"parts": ", ".join(found[each].name for each in sorted(found))},
                hint="Fetch all parts again; the list is in the .7z.txt beside them.",
            )
    return [found[number] for number in sorted(found)]


def _joined(parts: list[Path], whole: Path, cancel: Cancel) -> Path:
    with whole.open("xb") as stream:
        for part in parts:
            with part.open("rb") as source:
                while chunk := source.read(_CHUNK):
                    cancel.check()
                    stream.write(chunk)
    return whole


def _listed(path: Path) -> tuple[str, ...] | None:
    """The names in the list file beside an archive."""
    match = _VVPP.fullmatch(path.name)
    other = _SEVEN.fullmatch(path.name)
    if match is not None:
        beside = path.with_name(f"{match['stem']}.vvpp.txt")
    elif other is not None:
        beside = path.with_name(f"{other['stem']}.7z.txt")
    else:
        return None
    if not beside.is_file() or beside.stat().st_size > _MOST_LIST_BYTES:
        return None
    lines = beside.read_text("utf-8", "replace").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _rivals(path: Path, parts: list[Path]) -> tuple[str, ...]:
    """Files beside it that an editor would take for the same archive in another form."""
    own = _VVPP.fullmatch(path.name)
    if own is None:
        return ()
    names = {part.name for part in parts}
    return tuple(
        sorted(
            each.name
            for each in path.parent.iterdir()
            if each.name not in names
            and (match := _VVPP.fullmatch(each.name)) is not None
            and match["stem"] == own["stem"]
        )
    )
