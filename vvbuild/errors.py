"""The tree of typed errors.

Every failure that a user can meet is one class here: a stable kebab-case code, an exit
status, what happened, the facts around it, and what to do next. The families fix the exit
status; the leaves fix the code. ``report/`` renders them, ``docs/errors.md`` is generated
from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import ClassVar


class ExitStatus(IntEnum):
    """What a process of ours ends with; the meaning never changes."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    NETWORK = 3
    INTEGRITY = 4
    MISSING = 5
    TERMS = 6
    EXTERNAL = 7
    RESOURCES = 8
    BUG = 70
    INTERRUPTED = 130


class VvbuildError(Exception):
    """A failure with a code, a message, facts around it, and a next action."""

    code: ClassVar[str] = "vvbuild-error"
    exit_status: ClassVar[ExitStatus] = ExitStatus.BUG

    def __init__(
        self,
        message: str,
        *,
        context: Mapping[str, object] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.context = {key: str(value) for key, value in (context or {}).items()}
        self.hint = hint


class UsageError(VvbuildError):
    """The command line or an input file says something that cannot be meant."""

    code = "usage"
    exit_status = ExitStatus.USAGE


class UnknownNameError(UsageError):
    """A target, release, component or other name that no table knows."""

    code = "unknown-name"


class ManifestError(UsageError):
    """A release manifest or table that breaks its format: file, line and what was expected."""

    code = "manifest-invalid"


class BadReferenceError(UsageError):
    """An artifact reference of no known form, or one that is not allowed here."""

    code = "reference-invalid"


class OutputNotOursError(UsageError):
    """An output directory that holds files which this program did not write."""

    code = "output-not-ours"


class NetworkError(VvbuildError):
    """A server could not be reached, or did not give what was asked for."""

    code = "network"
    exit_status = ExitStatus.NETWORK


class NotFoundOnServerError(NetworkError):
    """The server answered, and it does not have the file."""

    code = "not-found-on-server"


class RateLimitedError(NetworkError):
    """The server counts requests, and this machine has used up its share for now."""

    code = "rate-limited"


class OfflineError(NetworkError):
    """Something is missing from the store and the network may not be used."""

    code = "offline"


class IntegrityError(VvbuildError):
    """Bytes that are not the bytes that were promised."""

    code = "integrity"
    exit_status = ExitStatus.INTEGRITY


class DigestMismatchError(IntegrityError):
    """A file whose SHA-256 differs from the lock's."""

    code = "digest-mismatch"


class SizeMismatchError(IntegrityError):
    """A file that is shorter, longer or larger than its lock allows."""

    code = "size-mismatch"


class LockError(IntegrityError):
    """A lock that cannot be read, lacks an artifact, or belongs to another manifest."""

    code = "lock-invalid"


class LockDriftError(IntegrityError):
    """A server has other bytes now than those that were locked under the same name."""

    code = "lock-drift"


class HostileArchiveError(IntegrityError):
    """An archive with a member that must not be unpacked (escaping, colliding, a bomb …)."""

    code = "hostile-archive"


class ArchiveLayoutError(IntegrityError):
    """An archive without the members, or without the one top folder, that it was said to have."""

    code = "archive-layout"


class StrangerError(IntegrityError):
    """A file that a program of others left and that no lock names."""

    code = "stranger-file"


class MemberMissingError(IntegrityError):
    """A file that the lock names and that a program of others did not leave."""

    code = "member-missing"


class MirrorError(IntegrityError):
    """A directory that is no mirror, or one that lacks what its index names."""

    code = "mirror-invalid"


class BinaryMalformedError(IntegrityError):
    """A program or library whose headers contradict themselves, point nowhere, or are cut off."""

    code = "binary-malformed"


class StoreCorruptError(IntegrityError):
    """An entry of the store that is not what its name says."""

    code = "store-corrupt"


class MissingError(VvbuildError):
    """Something that this machine lacks and that cannot be fetched."""

    code = "missing"
    exit_status = ExitStatus.MISSING


class HostCannotFreezeError(MissingError):
    """A target that this machine cannot freeze."""

    code = "host-cannot-freeze"


class HostToolMissingError(MissingError):
    """A program or library that the host must have and has not."""

    code = "host-tool-missing"


class PythonMissingError(MissingError):
    """No Python on this machine that the release accepts."""

    code = "python-missing"


class TermsError(VvbuildError):
    """Terms that must be accepted first, and that nobody has accepted in this wording."""

    code = "terms-not-accepted"
    exit_status = ExitStatus.TERMS


class ExternalError(VvbuildError):
    """A program that we started failed; its last lines are in the context."""

    code = "external-program"
    exit_status = ExitStatus.EXTERNAL


class DownloaderError(ExternalError):
    """The core's downloader failed for a reason that it tells in its last lines."""

    code = "downloader-failed"


class DownloaderContractError(DownloaderError):
    """The core's downloader refuses arguments that its contract says it takes."""

    code = "downloader-contract"


class BootloaderError(ExternalError):
    """The bootloader could not be built, or what was built is not a bootloader."""

    code = "bootloader-failed"


class FreezeError(ExternalError):
    """PyInstaller failed, or left something else than a frozen program."""

    code = "freeze-failed"


class EngineError(ExternalError):
    """The engine did not start, answer, cancel or stop as it must."""

    code = "engine-failed"


class FindingsError(VvbuildError):
    """Rules found errors; the findings tell which."""

    code = "findings"
    exit_status = ExitStatus.FINDINGS


class ResourceError(VvbuildError):
    """The machine has no space left, or refuses to let us write."""

    code = "resources"
    exit_status = ExitStatus.RESOURCES


class DiskFullError(ResourceError):
    """No space left on the device."""

    code = "disk-full"


class MemoryShortError(ResourceError):
    """The machine had too little memory for a program that we started."""

    code = "out-of-memory"


class PermissionDeniedError(ResourceError):
    """A file or directory that we may not read or write."""

    code = "permission-denied"


class CancelledError(VvbuildError):
    """The user pressed Ctrl-C, or the process was told to end."""

    code = "interrupted"
    exit_status = ExitStatus.INTERRUPTED


class InternalError(VvbuildError):
    """A fault of our own. Please report it."""

    code = "internal"
    exit_status = ExitStatus.BUG


def error_classes() -> Iterator[type[VvbuildError]]:
    """Yield every error class, families before their leaves (for docs and tests)."""
    queue: list[type[VvbuildError]] = [VvbuildError]
    while queue:
        current = queue.pop(0)
        yield current
        queue.extend(current.__subclasses__())


def from_os_error(error: OSError, action: str) -> VvbuildError:
    """Name an ``OSError`` by what the user can do about it.

    ``action`` continues the sentence "Could not …".
    """
    import errno

    context = {"path": error.filename} if error.filename else {}
    reason = error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFullError(
            f"Could not {action}: {reason}.",
            context=context,
            hint="Free some space, or put VVBUILD_CACHE_DIR and --out on another disk; run again.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PermissionDeniedError(
            f"Could not {action}: {reason}.",
            context=context,
            hint="Give this user the right to write there, or choose another directory.",
        )
    return ResourceError(f"Could not {action}: {reason}.", context=context)
