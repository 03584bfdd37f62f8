"""A file's digest, size and more by its bytes, where nobody tells them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

from vvbuild.errors import (
    DigestMismatchError,
    LockError,
    SizeMismatchError,
    VvbuildError,
    from_os_error,
)
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.disguise import disguise_by_head
from vvbuild.fetch.failures import refuse_status
from vvbuild.fetch.pace import Meter
from vvbuild.locking.means import Means, persist
from vvbuild.locking.members import CAN_LIST, list_members
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Note
from vvbuild.model.locked import Member
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.model.terms import MOST_BYTES, decode_terms

# A file whose size nobody tells is read up to here when it is locked.
_DEFAULT_LIMIT = ByteSize(16 << 30)
_CHUNK = 1 << 20
_READ = "downloaded and hashed"


@dataclass(frozen=True, slots=True)
class Told:
    """The text that must be accepted first, in its canonical form; ``None``: there is none."""

    text: str | None
    how: str

    @property
    def sha256(self) -> str | None:
        """What a lock names it by."""
        return None if self.text is None else Digest.of_bytes(self.text.encode()).hex


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a file now: digest in hexadecimal, size in bytes, and how.

    ``upload`` is when GitHub got it, ISO 8601. ``url`` is where the file is. ``members`` is what
    it holds, where somebody looked; ``terms`` what must be accepted, where somebody asked.
    """

    reference: Reference
    url: str
    how: str
    sha256: str | None
    size: int | None
    upload: str | None = None
    members: Mapping[str, Member] | None = None
    terms: Told | None = None


def refuse_large(pin: PinnedArtifact, size: int | None) -> None:
    """Raise :class:`SizeMismatchError` for more bytes than the manifest allows."""
    limit, hint = (
        pin.max_size or _DEFAULT_LIMIT,
        "The limit is the artifact's max_size in the manifest.",
    )
    if pin.terms == "file" and limit > MOST_BYTES:
        limit, hint = ByteSize(MOST_BYTES), "A text that must be accepted is never larger."
    if size is not None and size > limit:
        raise SizeMismatchError(
            f"{pin.name} is larger than {limit}.",
            context={"size": ByteSize(size)},
            hint=hint,
        )


@dataclass(frozen=True, slots=True)
class Wants:
    """What is to be learned beyond what servers tell.

    ``bytes`` says, of what an index told, whether the file is read. With ``members`` an archive
    that is read, and that a lock can list, is looked into: if nothing is ``locked``, or if it has
    that digest.
    """

    bytes: Callable[[Learned], bool]
    members: bool = False
    locked: str | None = None


def read(pin: PinnedArtifact, claimed: Learned, means: Means, wants: Wants) -> Learned:
    """Download a file to learn its digest and size, its text if that must be accepted, its members.

    Nothing is kept, and an archive is unpacked only once it was verified.
    """
    lists = wants.members and pin.is_listed
    if lists and not CAN_LIST:
        means.emit(Note(f"{pin.name} is not looked into: Windows has no execute bits", "warning"))
    try:
        if lists and CAN_LIST:
            return _read_and_list(pin, claimed, means, wants)
        return _read(pin, claimed, means, io.BytesIO() if pin.terms == "file" else None)
    except OSError as error:
        raise from_os_error(error, f"look into {pin.name}") from error


def _read_and_list(pin: PinnedArtifact, claimed: Learned, means: Means, wants: Wants) -> Learned:
    with means.scratch() as room:
        archive = room / "archive" / pin.name
        archive.parent.mkdir()
        with archive.open("w+b") as sink:
            learned = _read(pin, claimed, means, sink)
        if wants.locked not in (None, learned.sha256):
            return learned
        members = list_members(archive, room / "tree", pin, means.cancel)
        return replace(learned, members=members)


def _read(pin: PinnedArtifact, claimed: Learned, means: Means, sink: BinaryIO | None) -> Learned:
    source = str(claimed.reference)
    sha256, size = persist(pin.name, source, lambda: _hash(pin, claimed, means, sink), means)
    _compare("SHA-256", claimed.sha256, sha256, pin, claimed, DigestMismatchError)
    _compare("size", claimed.size, size, pin, claimed, SizeMismatchError)
    how = _READ if claimed.sha256 is None else f"{claimed.how}; {_READ}"
    learned = replace(claimed, sha256=sha256, size=size, how=how)
    return _with_text(pin, learned, sink) if pin.terms == "file" and sink else learned


def _with_text(pin: PinnedArtifact, learned: Learned, sink: BinaryIO) -> Learned:
    sink.seek(0)
    try:
        text = decode_terms(sink.read())
    except ValueError as error:
        raise LockError(f"{pin.name} is no text that could be accepted: {error}.") from None
    return replace(learned, terms=Told(text, "the file itself"))


def _compare(
    fact: str,
    claimed: object,
    found: object,
    pin: PinnedArtifact,
    learned: Learned,
    error: type[VvbuildError],
) -> None:
    if claimed not in (None, found):
        raise error(
            f"{pin.name} is not what its index says.",
            context={"index says": claimed, "file has": found, "at": learned.reference},
            hint=f"Do not lock it: the {fact} differs. Find out who changed the file.",
        )


def _hash(
    pin: PinnedArtifact, claimed: Learned, means: Means, sink: BinaryIO | None
) -> tuple[str, int]:
    session, clock = means.session, means.session.patience.clock
    digest, size, head = hashlib.sha256(), 0, b""
    pace = session.pace(clock() + session.timeouts.file)
    meter = Meter(means.emit, pin.name, claimed.size, clock)
    if sink is not None:
        sink.seek(0)
        sink.truncate()
    with session.open(claimed.url, cancel=means.cancel) as response:
        refuse_status(response)
        refuse_large(pin, _announced(response.headers.get("content-length")))
        for chunk in response.iter_raw(_CHUNK):
            pace.tick(len(chunk))
            digest.update(chunk)
            head, size = head or chunk[:64], size + len(chunk)
            refuse_large(pin, size)
            if sink is not None:
                sink.write(chunk)
            meter.tell(size)
    meter.tell(size, final=True)
    # A page that claims to be a text is one that nobody should be asked to accept.
    what = disguise_by_head("" if pin.terms == "file" else pin.name, head)
    if what is not None:
        raise AttemptError(f"sent {what} where the file should be")
    return digest.hexdigest(), size


def _announced(length: str | None) -> int | None:
    return int(length) if length is not None and length.isascii() and length.isdigit() else None
