"""A file's digest and size by its bytes, where nobody tells them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from vvbuild.errors import DigestMismatchError, SizeMismatchError, VvbuildError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.disguise import disguise_by_head
from vvbuild.fetch.failures import refuse_status
from vvbuild.fetch.pace import Meter
from vvbuild.locking.means import Means, persist
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize

# A file whose size nobody tells is read up to here when it is locked.
_DEFAULT_LIMIT = ByteSize(16 << 30)
_CHUNK = 1 << 20
_READ = "downloaded and hashed"


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a file now: digest in hexadecimal, size in bytes, and how.

    ``upload`` is when GitHub got it, ISO 8601. ``url`` is where the file is.
    """

    reference: Reference
    url: str
    how: str
    sha256: str | None
    size: int | None
    upload: str | None = None


def refuse_large(pin: PinnedArtifact, size: int | None) -> None:
    """Raise :class:`SizeMismatchError` for more bytes than the manifest allows."""
    limit = pin.max_size or _DEFAULT_LIMIT
    if size is not None and size > limit:
        raise SizeMismatchError(
            f"{pin.name} is larger than {limit}.",
            context={"size": ByteSize(size)},
            hint="The limit is the artifact's max_size in the manifest.",
        )


def read(pin: PinnedArtifact, claimed: Learned, means: Means) -> Learned:
    """Download a file only to learn its digest and size; nothing is kept."""
    source = str(claimed.reference)
    sha256, size = persist(pin.name, source, lambda: _hash(pin, claimed, means), means)
    _compare("SHA-256", claimed.sha256, sha256, pin, claimed, DigestMismatchError)
    _compare("size", claimed.size, size, pin, claimed, SizeMismatchError)
    how = _READ if claimed.sha256 is None else f"{claimed.how}; {_READ}"
    return replace(claimed, sha256=sha256, size=size, how=how)


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


def _hash(pin: PinnedArtifact, claimed: Learned, means: Means) -> tuple[str, int]:
    session, clock = means.session, means.session.patience.clock
    digest, size, head = hashlib.sha256(), 0, b""
    pace = session.pace(clock() + session.timeouts.file)
    meter = Meter(means.emit, pin.name, claimed.size, clock)
    with session.open(claimed.url, cancel=means.cancel) as response:
        refuse_status(response)
        refuse_large(pin, _announced(response.headers.get("content-length")))
        for chunk in response.iter_raw(_CHUNK):
            pace.tick(len(chunk))
            digest.update(chunk)
            head, size = head or chunk[:64], size + len(chunk)
            refuse_large(pin, size)
            meter.tell(size)
    meter.tell(size, final=True)
    what = disguise_by_head(pin.name, head)
    if what is not None:
        raise AttemptError(f"sent {what} where the file should be")
    return digest.hexdigest(), size


def _announced(length: str | None) -> int | None:
    return int(length) if length is not None and length.isascii() and length.isdigit() else None
