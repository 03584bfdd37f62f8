"""``smoke``: start a bundle, speak, cancel, stop."""

from __future__ import annotations

import tempfile
from pathlib import Path

from vvbuild.errors import EngineError, UsageError
from vvbuild.model.events import Emit
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree, write_atomically
from vvbuild.smoke.cancelling import measure_cancel
from vvbuild.smoke.catalogue import (
    check_manifest,
    check_speaker_info,
    check_speakers,
    check_version,
    talking_style,
)
from vvbuild.smoke.checks import CheckFailedError, Checks, Passed
from vvbuild.smoke.engine import Engine, describe_status
from vvbuild.smoke.http import Client
from vvbuild.smoke.interrupts import deferred_interrupts
from vvbuild.smoke.onnxruntime import check_onnxruntime
from vvbuild.smoke.result import CancelTimes, SmokeOptions, SmokeResult
from vvbuild.smoke.subject import Subject, prepare
from vvbuild.smoke.talking import Speech, ask, say, say_another, say_both

NAMES = (
    "start", "version", "engine_manifest", "speakers", "speaker_info", "audio_query", "synthesis",
    "two_texts", "two_at_once", "cancel", "stop", "onnxruntime",
)  # fmt: skip


class Scratch:
    """A temporary directory that goes when it is told to, unless it is to be kept."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._path: Path | None = None

    def make(self) -> Path:
        """Create it."""
        with deferred_interrupts():
            self._path = Path(tempfile.mkdtemp(prefix="vvbuild-smoke-")).resolve()
        return self._path

    @property
    def kept(self) -> Path | None:
        """Where it will still be afterwards, if anywhere."""
        return self._path if self._keep else None

    def close(self) -> None:
        """Remove it, or not."""
        if self._path is not None and not self._keep:
            with deferred_interrupts():
                remove_tree(self._path)


def smoke(path: Path, options: SmokeOptions, *, emit: Emit, cancel: Cancel) -> SmokeResult:
    """Start the bundle at ``path``, put every check to it, and stop it.

    Nothing is left running, and no file unless ``options`` ask for it. Raises
    :class:`EngineError` for an engine that does not start, :class:`UsageError` for what is no
    bundle, and what unpacking raises.
    """
    if options.wav is not None and options.wav.is_dir():
        raise UsageError(f"--wav needs the name of a file; {options.wav} is a directory.")
    if not options.text.strip():
        raise UsageError("--text is empty: there is nothing to say.")
    scratch = Scratch(keep=options.keep)
    try:
        where = scratch.make()
        subject = prepare(path, where, cancel)
        result = _test(path, subject, where, options, scratch, emit, cancel)
        if options.wav is not None and result.speech:
            write_atomically(options.wav, result.speech)
        return result
    except EngineError as error:
        if scratch.kept is not None:
            error.context["kept"] = str(scratch.kept)
        raise
    except KeyboardInterrupt:
        cancel.set()
        raise
    finally:
        scratch.close()


def _test(
    path: Path,
    subject: Subject,
    where: Path,
    options: SmokeOptions,
    scratch: Scratch,
    emit: Emit,
    cancel: Cancel,
) -> SmokeResult:
    home = where / "home"
    home.mkdir()
    engine = Engine(subject, home, cancel)
    checks = Checks(NAMES, engine.ended, emit, cancel)
    try:
        engine.start()
        with Client(engine.port, options.request_timeout) as client:
            first_answer = _wait(engine, client, subject, options, cancel)
            checks.add("start", "ok", first_answer, "first answer")
            speech, times = _talk(checks, client, engine, subject, options, cancel)
        checks.run("stop", engine, lambda each: _stop(each, options), after="start", alive=False)
        version = checks.run(
            "onnxruntime",
            subject,
            lambda each: check_onnxruntime(each, cancel),
            after="start",
            alive=False,
        )
        return SmokeResult(
            path=path,
            checks=tuple(checks.records),
            engine=f"{subject.name} {subject.version}",
            ort_version=version,
            first_answer=round(first_answer, 3),
            speech=speech.wav if speech else b"",
            cancel=times or CancelTimes(),
            kept=scratch.kept,
            wav=options.wav if speech else None,
            last_lines=engine.last_lines(),
        )
    finally:
        engine.close()


def _wait(
    engine: Engine, client: Client, subject: Subject, options: SmokeOptions, cancel: Cancel
) -> float:
    def answers(left: float) -> bool:
        try:
            client.get("/version", timeout=left)
        except CheckFailedError:
            return False
        return True

    try:
        return engine.wait_for(answers, options.timeout)
    except EngineError as error:
        # A library that cannot be loaded is the most frequent cause.
        error.context["ONNX Runtime"] = _library_in_words(subject, cancel)
        raise


def _library_in_words(subject: Subject, cancel: Cancel) -> str:
    checks = Checks(("onnxruntime",), lambda _: None, lambda _: None, cancel)
    checks.run("onnxruntime", subject, lambda each: check_onnxruntime(each, cancel), after="")
    return checks.records[0].detail


def _talk(
    checks: Checks,
    client: Client,
    engine: Engine,
    subject: Subject,
    options: SmokeOptions,
    cancel: Cancel,
) -> tuple[Speech | None, CancelTimes | None]:
    checks.run("version", subject, lambda each: check_version(client, each), after="start")
    checks.run("engine_manifest", subject, lambda each: check_manifest(client, each), after="start")
    speakers = checks.run("speakers", client, check_speakers, after="start")
    checks.run(
        "speaker_info", speakers, lambda each: check_speaker_info(client, each), after="speakers"
    )
    line = checks.run(
        "audio_query",
        None if speakers is None else talking_style(speakers),
        lambda style: ask(client, style, options.text),
        after="speakers",
    )
    speech = checks.run("synthesis", line, lambda each: say(client, each), after="audio_query")
    other = checks.run(
        "two_texts",
        speech,
        lambda each: say_another(client, each, options.text),
        after="synthesis",
    )
    checks.run(
        "two_at_once",
        (speech.line, other.line) if speech and other else None,
        lambda lines: say_both(client, lines),
        after="two_texts",
    )
    times = checks.run(
        "cancel",
        line if speech else None,
        lambda each: measure_cancel(client, each, engine.group, options.trials, cancel),
        after="synthesis",
    )
    return speech, times


def _stop(engine: Engine, options: SmokeOptions) -> Passed[None]:
    """SIGTERM ends it in time, with all its children, and frees the port."""
    ended = engine.ended()
    if ended is not None:
        raise CheckFailedError(f"{ended} before it was told to")
    stopped = engine.stop(options.stop_timeout)
    if stopped.status is None:
        raise CheckFailedError(f"still running {stopped.seconds:.1f} s after SIGTERM")
    if stopped.left:
        raise CheckFailedError(f"left behind: {', '.join(stopped.left)}")
    if not stopped.port_free:
        raise CheckFailedError("its port still answers")
    if not stopped.proper:
        raise CheckFailedError(
            f"ended with {describe_status(stopped.status)} after SIGTERM, not with status 0"
        )
    return Passed(f"{describe_status(stopped.status)}, nothing left behind", None)
