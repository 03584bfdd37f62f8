"""What a failed run means, as one of our errors, and whether another one may go better."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from vvbuild.errors import (
    DiskFullError,
    DownloaderContractError,
    DownloaderError,
    MemoryShortError,
    NetworkError,
    NotFoundOnServerError,
    RateLimitedError,
    TermsError,
    VvbuildError,
)
from vvbuild.fetch.downloader.child import Ending
from vvbuild.fetch.downloader.command import Invocation
from vvbuild.fetch.downloader.terms import terms_digest
from vvbuild.model.downloader import Contract

_KILLED = (-9, 137)
# STATUS_NO_MEMORY and STATUS_COMMITMENT_LIMIT of Windows.
_NO_MEMORY = (0xC0000017, 0xC000012D)
_NO_SPACE = 1 << 20
_DIRECT = "`--fetcher direct` fetches the same files without the downloader."


def failure(
    ending: Ending, contract: Contract, invocation: Invocation, work: Path, *, guest: bool
) -> tuple[VvbuildError, bool]:
    """The error of a run that failed, and whether it may be repeated.

    ``work`` is on the disk that it wrote to; ``guest`` says that it had no token.
    """
    subject = f"The core's downloader ({contract.version}) could not bring {invocation.title}"
    facts = {"last lines": ending.tail}
    if ending.refused is not None:
        return _declined(ending.refused, invocation), False
    if ending.status is None:
        hint = f"Its server may be slow. {_DIRECT}"
        return DownloaderError(f"{subject}: it took too long.", context=facts, hint=hint), False
    if ending.status == contract.generation.usage_exit:
        return _usage(subject, contract, facts, invocation), False
    shows = contract.shows
    if shows("disk-full", ending.tail) or shutil.disk_usage(work).free < _NO_SPACE:
        return _disk_full(subject, facts), False
    memory = ending.status in (*_KILLED, *_NO_MEMORY) or shows("out-of-memory", ending.tail)
    if memory:
        return _memory(subject, contract, facts, ending.status), False
    return _network(subject, contract, ending, guest=guest)


def _declined(text: str, invocation: Invocation) -> VvbuildError:
    digest = terms_digest(text)
    return TermsError(
        f"The terms that the core's downloader shows for {invocation.title} are not accepted.",
        context={"sha256 of the text": digest, "text": text.strip()},
        hint="Read them. `--accept-terms` accepts the terms that the lock names; if the text has "
        f"changed since, `--accept-terms {digest}` accepts this one.",
    )


def _usage(
    subject: str, contract: Contract, facts: Mapping[str, str], invocation: Invocation
) -> VvbuildError:
    arguments = " ".join(invocation.arguments)
    return DownloaderContractError(
        f"{subject}: it refuses the arguments that its contract names.",
        context={"arguments": arguments, "contract": contract.core.source, **facts},
        hint=f"manifests/downloader.toml needs another row for this core. {_DIRECT}",
    )


def _disk_full(subject: str, facts: Mapping[str, str]) -> VvbuildError:
    return DiskFullError(
        f"{subject}: no space left on the disk of the store.",
        context=facts,
        hint="Free some space, or put VVBUILD_CACHE_DIR on another disk; run again.",
    )


def _memory(
    subject: str, contract: Contract, facts: Mapping[str, str], status: int
) -> VvbuildError:
    how = "it was killed, most likely for want of memory" if status in _KILLED else "out of memory"
    why = ", since it holds whole archives in memory" if contract.generation.in_memory else ""
    return MemoryShortError(
        f"{subject}: {how}{why}.",
        context=facts,
        hint="`--fetcher direct` needs little memory, however large the files are.",
    )


def _network(
    subject: str, contract: Contract, ending: Ending, *, guest: bool
) -> tuple[VvbuildError, bool]:
    facts = {"repeats by itself": contract.generation.retries, "last lines": ending.tail}
    if contract.shows("rate-limited", ending.tail):
        hint = (
            "Put a token into GH_TOKEN: GitHub then answers 5000 requests an hour instead of 60."
            if guest
            else "Wait until GitHub counts anew, at most an hour."
        )
        error: VvbuildError = RateLimitedError(
            f"{subject}: GitHub's API refuses more requests for now.",
            context=facts,
            hint=f"{hint} `--fetcher direct` does not ask that API at all.",
        )
        return error, False
    if contract.shows("not-found", ending.tail):
        error = NotFoundOnServerError(
            f"{subject}: the server has no such release or file.",
            context=facts,
            hint=f"Compare the release's pins with what was published. {_DIRECT}",
        )
        return error, False
    status = ending.status
    how = f"ended with {status}" if status is None or status >= 0 else f"ended by signal {-status}"
    return DownloaderError(f"{subject}: it {how}.", context=facts, hint=_DIRECT), True


def page_instead(subject: str, error: VvbuildError) -> VvbuildError:
    """An error page of a server that an unwary downloader has kept as a file."""
    return NetworkError(
        f"The core's downloader kept a server's error page as a file of {subject}.",
        context=error.context,
        hint=f"Run it again later. {_DIRECT}",
    )
