"""The core's downloader, from the request to verified trees."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from vvbuild.errors import DigestMismatchError, DownloaderError, VvbuildError, from_os_error
from vvbuild.fetch.attempts import default_pause
from vvbuild.fetch.downloader.child import Ending, converse
from vvbuild.fetch.downloader.command import Invocation, invocations
from vvbuild.fetch.downloader.failures import failure, page_instead
from vvbuild.fetch.downloader.request import (
    Delivery,
    DownloadRequest,
    Limits,
    Program,
    Surroundings,
)
from vvbuild.fetch.downloader.surroundings import environment_for, hider
from vvbuild.fetch.downloader.terms import Consent
from vvbuild.fetch.downloader.verify import check, expect, gather
from vvbuild.fetch.urls import redact
from vvbuild.model.downloader import Contract
from vvbuild.model.events import Emit, Note, Progress, silent
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree


def run_downloader(
    program: Program,
    request: DownloadRequest,
    work: Path,
    *,
    cancel: Cancel,
    consent: Consent | None = None,
    around: Surroundings | None = None,
    limits: Limits | None = None,
    emit: Emit = silent,
) -> dict[str, Delivery]:
    """Let the core's downloader bring what ``request`` wants, and trust nothing of it.

    ``work`` is an empty directory, best in the store's scratch space: what is delivered lies
    below it. Components that come along unwanted, but are known, are delivered too.

    Returns a delivery per component: a directory that is byte for byte, link for link and mode
    for mode what the lock says. Nothing that was not verified is delivered, and whatever fails,
    no child is left. Raises

    - :class:`~vvbuild.errors.TermsError` for terms that ``consent`` does not cover,
    - :class:`~vvbuild.errors.DigestMismatchError`, ``SizeMismatchError``, ``StrangerError`` or
      ``MemberMissingError`` for files that are not what the lock says,
    - :class:`~vvbuild.errors.RateLimitedError`, ``NotFoundOnServerError``, ``DiskFullError``,
      ``MemoryShortError`` and ``DownloaderContractError`` for failures that have a name,
    - :class:`~vvbuild.errors.DownloaderError` with its last lines for all others,
    - :class:`~vvbuild.errors.UsageError` for what this downloader cannot bring.
    """
    contract, around, work = program.contract, around or Surroundings(), work.resolve()
    run = _Run(
        contract, request, work, consent or Consent(), around, limits or Limits(), emit, cancel
    )
    try:
        runs = invocations(contract, request)
        command = _own_copy(program, work, cancel) if runs else work
        deliveries: dict[str, Delivery] = {}
        for invocation in runs:
            for delivery in run.bring(command, invocation):
                deliveries[delivery.component] = delivery
    except OSError as error:
        raise from_os_error(error, "keep what the core's downloader brings") from error
    return deliveries


def _own_copy(program: Program, work: Path, cancel: Cancel) -> Path:
    """The program as a file that may be executed and that nobody else writes, verified again."""
    own = work / f"downloader{_suffix(program.path)}"
    shutil.copyfile(program.path, own)
    own.chmod(0o700)
    found = hash_file(own, cancel)
    if found != program.sha256:
        own.unlink()
        raise DigestMismatchError(
            "The core's downloader is not the program that the lock names; it was not started.",
            context={"path": program.path, "expected": program.sha256, "found": found},
            hint="Run `vvbuild cache verify`.",
        )
    return own


def _suffix(path: Path) -> str:
    """What makes a file a program on Windows, which looks for a name without one elsewhere."""
    if sys.platform == "win32":
        return path.suffix if path.suffix in (".bat", ".cmd") else ".exe"
    return ""


@dataclass(frozen=True)
class _Run:
    contract: Contract
    request: DownloadRequest
    work: Path
    consent: Consent
    around: Surroundings
    limits: Limits
    emit: Emit
    cancel: Cancel

    def bring(self, command: Path, invocation: Invocation) -> list[Delivery]:
        """Run until it is right, or hopeless."""
        waits = list(self.limits.waits)
        while True:
            self.cancel.check()
            place = self.work / "run"
            try:
                deliveries, error, passing = self._once(command, invocation, place)
            finally:
                remove_tree(place)
            if error is None:
                return deliveries
            if not passing or not waits:
                raise error
            seconds = waits.pop(0)
            text = f"{error.message} Next attempt in {seconds:.0f} s."
            self.emit(Note(text, level="warning"))
            default_pause(seconds, self.cancel)

    def _once(
        self, command: Path, invocation: Invocation, place: Path
    ) -> tuple[list[Delivery], VvbuildError | None, bool]:
        output, temporary = place / "output", place / "tmp"
        temporary.mkdir(parents=True)
        expected = expect(invocation, self.request)
        ending = self._converse(command, invocation, output, temporary)
        if ending.status != 0 or ending.refused is not None:
            guest = self.around.token is None
            error, passing = failure(ending, self.contract, invocation, self.work, guest=guest)
            return [], error, passing
        if not output.is_dir():
            return [], self._nothing(invocation, ending), True
        verdict = check(output, expected, invocation, self.contract, self.cancel)
        wrong = verdict.error(invocation.title)
        if wrong is None:
            return gather(output, expected, invocation, self.work / "delivered"), None, False
        if verdict.passing and verdict.pages and not self.contract.generation.checks_status:
            wrong = page_instead(invocation.title, wrong)
        wrong.context["last lines"] = ending.tail
        return [], wrong, verdict.passing

    def _nothing(self, invocation: Invocation, ending: Ending) -> VvbuildError:
        return DownloaderError(
            f"The core's downloader ended well and left nothing of {invocation.title}.",
            context={"last lines": ending.tail},
            hint="`--fetcher direct` fetches the same files without the downloader.",
        )

    def _converse(
        self, command: Path, invocation: Invocation, output: Path, temporary: Path
    ) -> Ending:
        ending = converse(
            [command, *invocation.arguments_into(str(output))],
            cwd=temporary,
            environment=environment_for(self.contract, self.around, temporary),
            prompt=self.contract.generation.prompt if invocation.may_ask else None,
            consent=self.consent,
            limits=self.limits,
            hide=hider(self.around),
            on_line=lambda line: self.emit(Note(f"downloader: {redact(line)}", level="debug")),
            on_tick=self._growth(invocation, output),
            cancel=self.cancel,
        )
        return replace(ending, tail=redact(ending.tail))

    def _growth(self, invocation: Invocation, output: Path) -> Callable[[], None]:
        """Tell how much lies there; a downloader says nothing of its progress to a pipe."""
        total = sum(self.request.parts[name].size for name in invocation.components)
        told = -1

        def tell() -> None:
            nonlocal told
            done = min(_bytes_below(output), total)
            if done != told:
                told = done
                self.emit(Progress(f"downloader: {invocation.title}", done, total))

        return tell


def _bytes_below(directory: Path) -> int:
    total = 0
    for where, _, names in os.walk(directory):
        for name in names:
            # It writes, moves and removes while we look.
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_size  # noqa: PTH118
    return total
