"""A whole smoke test, against an engine that misbehaves on demand."""

import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.smoke.conftest import QUICK
from vvbuild.errors import CancelledError, EngineError, UsageError
from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke import cancelling, engine, processes
from vvbuild.smoke.run import NAMES

linux = pytest.mark.skipif(not processes.visible(), reason="needs /proc")


def states(result):
    return {check.name: check.state for check in result.checks}


def detail(result, name):
    return next(check.detail for check in result.checks if check.name == name)


def failed(result):
    return [check.name for check in result.checks if check.state == "failed"]


def test_a_good_engine_passes_every_check_that_it_offers(standin, test_it):
    result = test_it(standin())
    assert [check.name for check in result.checks] == list(NAMES)
    assert {name for name, state in states(result).items() if state != "ok"} == {
        "cancel",
        "onnxruntime",
    }
    assert not result.failed
    assert result.first_answer > 0
    assert result.cancel.percentile(50) is None


def test_the_engine_is_started_as_the_editor_does_with_a_home_of_its_own(
    standin, test_it, scratch, monkeypatch
):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    bundle = standin(manifest={"command": "run --flag"})
    test_it(bundle)
    told = bundle.told()
    environ = told["environ"]
    assert told["cwd"] == str(bundle.path)
    assert told["flag"] is True
    assert environ["VV_OUTPUT_LOG_UTF8"] == "1"
    assert all(
        environ[name].startswith(str(scratch)) for name in ("HOME", "XDG_DATA_HOME", "TMPDIR")
    )
    assert not {"LD_LIBRARY_PATH", "GITHUB_TOKEN"} & set(environ)


def test_the_first_speech_is_saved(standin, test_it, tmp_path):
    wav = tmp_path / "new/hello.wav"
    result = test_it(standin(), replace(QUICK, wav=wav))
    assert wav.read_bytes() == result.speech
    assert [path.name for path in wav.parent.iterdir()] == ["hello.wav"]


def test_what_is_kept_can_be_found(standin, test_it, scratch):
    result = test_it(standin(say="hello from inside"), replace(QUICK, keep=True))
    assert result.kept.parent == scratch
    assert "hello from inside" in (result.kept / "home/engine.log").read_text()


@pytest.mark.parametrize(
    ("behaviour", "check", "reason"),
    [
        ({"version": "1.2.4"}, "version", "says 1.2.4, engine_manifest.json says 1.2.3"),
        ({"faults": {"/version": 500}}, "version", "500"),
        ({"faults": {"/version": "no json"}}, "version", "malformed"),
        ({"tells": {"uuid": "other"}}, "engine_manifest", "of Stand-in other"),
        ({"tells": {"frame_rate": None}}, "engine_manifest", "frame_rate"),
        ({"tells": {"icon": "/tmp/icon.png"}}, "engine_manifest", "base64"),
        ({"speaker_info": {"portrait": ""}}, "speaker_info", "声: the portrait"),
        ({"speaker_info": {"style_infos": []}}, "speaker_info", "pictures"),
        ({"faults": {"/speaker_info": 500}}, "speaker_info", "500"),
        ({"same": True}, "two_texts", "very same sound"),
        ({"mixes": True}, "two_at_once", "very same sound"),
        ({"end_status": 1}, "stop", "ended with status 1"),
    ],
)
def test_a_fault_fails_its_check_and_no_other(standin, test_it, behaviour, check, reason):
    result = test_it(standin(**behaviour))
    assert failed(result) == [check]
    assert reason in detail(result, check)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"level": 0.0}, "silence"),
        ({"level": 4.0}, "clipped"),
        ({"rate": 48000}, "48000 Hz"),
        ({"stretch": 3.0}, "add up to"),
        ({"cut": 1000}, "length"),
        ({"faults": {"/synthesis": 500}}, "Internal Server Error"),
        ({"faults": {"/synthesis": 404}}, "404"),
    ],
)
def test_without_speech_nothing_that_needs_it_is_tried(standin, test_it, behaviour, reason):
    result = test_it(standin(**behaviour))
    assert failed(result) == ["synthesis"]
    assert reason in detail(result, "synthesis")
    skipped = [check for check in result.checks if check.state == "skipped"]
    assert [check.name for check in skipped] == ["two_texts", "two_at_once", "cancel"]
    assert not any(check.ok for check in skipped)
    assert states(result)["stop"] == "ok"


@pytest.mark.parametrize(
    "speakers",
    [
        [],
        [{"name": "a", "speaker_uuid": "u", "styles": [], "version": "1"}],
        [{"name": "a", "speaker_uuid": "u", "styles": [{"name": "b", "id": "x"}], "version": "1"}],
        [
            {
                "name": "a",
                "speaker_uuid": "u",
                "styles": [{"name": "b", "id": 1, "type": "sing"}],
                "version": "1",
            }
        ],
    ],
)
def test_without_a_speaker_that_talks_nothing_is_said(standin, test_it, speakers):
    result = test_it(standin(speakers=speakers))
    assert failed(result) == ["speakers"]
    assert {states(result)[name] for name in ("speaker_info", "audio_query", "synthesis")} == {
        "skipped"
    }


def test_a_text_without_any_sound_fails_the_query(standin, test_it):
    result = test_it(standin(), replace(QUICK, text="！！"))
    assert failed(result) == ["audio_query"]


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_an_answer_that_never_ends_fails_after_the_requests_time(standin, test_it, fault):
    bundle = standin(faults={"/speakers": fault})
    result = test_it(bundle, replace(QUICK, request_timeout=0.5))
    assert failed(result) == ["speakers"]
    assert "within 0.5 s" in detail(result, "speakers")


def test_a_death_in_the_midst_is_told_and_ends_the_checks(standin, test_it):
    result = test_it(standin(faults={"/synthesis": "die"}))
    assert failed(result) == ["synthesis", "stop"]
    assert "signal SIGKILL" in detail(result, "synthesis")
    assert result.last_lines == "out of cheese"


def test_an_engine_that_exits_at_once_is_an_error_with_its_last_lines(standin, test_it):
    bundle = standin(say="no dictionary", exit=3)
    with pytest.raises(EngineError, match="ended with status 3 before") as caught:
        test_it(bundle)
    assert caught.value.context["last lines"] == "no dictionary"


@pytest.mark.parametrize("behaviour", [{"deaf": True}, {"faults": {"/version": "hang"}}])
def test_an_engine_that_never_answers_is_an_error(standin, test_it, behaviour):
    with pytest.raises(EngineError, match="did not answer within 1 s"):
        test_it(standin(**behaviour), replace(QUICK, timeout=1.0))


def test_output_without_end_neither_blocks_the_engine_nor_fills_the_disk(
    standin, test_it, monkeypatch
):
    monkeypatch.setattr("vvbuild.smoke.output._LOG_BYTES", 1 << 20)
    result = test_it(
        standin(say="all work and no play\n", times=200_000), replace(QUICK, keep=True)
    )
    assert not result.failed
    assert (result.kept / "home/engine.log").stat().st_size < 2 << 20
    assert result.last_lines.splitlines()[-1] == "all work and no play"


def test_an_engine_that_ignores_sigterm_fails_to_stop_and_is_ended(standin, test_it):
    result = test_it(standin(sigterm="ignored"), replace(QUICK, stop_timeout=0.5))
    assert failed(result) == ["stop"]
    assert "after SIGTERM" in detail(result, "stop")


def test_an_engine_that_sigterm_kills_has_stopped(standin, test_it):
    assert "signal SIGTERM" in detail(test_it(standin(sigterm="default")), "stop")


@linux
@pytest.mark.parametrize("child", ["same group", "own session"])
def test_a_child_that_stays_behind_is_a_failure_and_is_ended(standin, test_it, child):
    bundle = standin(child=child)
    result = test_it(bundle)
    assert failed(result) == ["stop"]
    assert f"({(bundle.path / 'child').read_text()})" in detail(result, "stop")


def test_where_no_process_can_be_seen_the_group_still_tells(standin, test_it, monkeypatch):
    monkeypatch.setattr(engine.processes, "visible", lambda: False)
    monkeypatch.setattr(engine.processes, "family", lambda group, marker: [])
    result = test_it(standin(child="same group"))
    assert failed(result) == ["stop"]


@linux
def test_an_answer_from_another_program_is_not_the_engines(standin, test_it, monkeypatch):
    other = engine.Engine.start
    port = engine._free_port()

    def start_both(self):
        other(self)
        self.port = port

    import http.server

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), http.server.BaseHTTPRequestHandler
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(engine.Engine, "start", start_both)
        # The client is made after the start, and so talks to the other one.
        with pytest.raises(EngineError, match=f"Another program answers on port {port}"):
            test_it(standin())
        server.shutdown()


def test_setting_cancel_ends_everything(standin, test_it):
    bundle = standin(faults={"/synthesis": "hang"})
    cancel = Cancel()

    def stop():
        while "/synthesis" not in bundle.seen():
            threading.Event().wait(0.02)
        cancel.set()

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(CancelledError):
        test_it(bundle, cancel=cancel)


def test_an_interrupt_during_the_clearing_away_waits_for_it(standin, test_it, monkeypatch):
    kill = engine.Engine._kill

    def interrupted(self):
        signal.raise_signal(signal.SIGINT)
        kill(self)

    monkeypatch.setattr(engine.Engine, "_kill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        test_it(standin(deaf=True, child="own session"), replace(QUICK, timeout=0.5))


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("bundle.7z.001", b"7z", UsageError, "7-Zip"),
        ("bundle.7z", b"7z", UsageError, "7-Zip"),
        ("bundle.txt", b"", UsageError, "no bundle"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(tmp_path, test_it, name, content, error, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error, match=message):
        test_it(path)


def test_a_path_to_nothing_is_wrong_use(tmp_path, test_it):
    with pytest.raises(UsageError, match="nothing at"):
        test_it(tmp_path / "none")


def test_a_directory_without_a_manifest_is_no_bundle(tmp_path, test_it):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no bundle"):
        test_it(tmp_path / "empty")


@pytest.mark.parametrize(
    "manifest",
    [
        {"command": "../bundle1/run"},
        {"command": "/bin/true"},
        {"command": "missing"},
        {"command": ""},
        {"command": "'run"},
    ],
)
def test_a_command_that_is_no_program_of_the_bundle_is_an_error(standin, test_it, manifest):
    bundle = standin(manifest=manifest)
    standin()
    with pytest.raises(EngineError, match="program"):
        test_it(bundle)


@pytest.mark.parametrize("text", ["\ufeff{}", "[]", "{", '{"name": "a"}'])
def test_a_manifest_that_nobody_can_read_is_an_error(standin, test_it, text):
    bundle = standin()
    (bundle.path / "engine_manifest.json").write_text(text)
    with pytest.raises(EngineError, match="engine_manifest"):
        test_it(bundle)


def test_a_program_that_may_not_be_executed_is_an_error(standin, test_it):
    bundle = standin()
    (bundle.path / "run").chmod(0o644)
    with pytest.raises(EngineError, match="cannot be started") as caught:
        test_it(bundle)
    assert "execute bit" in caught.value.hint


def test_a_program_of_another_system_is_an_error(standin, test_it):
    bundle = standin()
    (bundle.path / "run").write_bytes(b"MZ\x90\0" + bytes(100))
    with pytest.raises(EngineError, match="cannot be started"):
        test_it(bundle)


@pytest.mark.parametrize("option", [{"text": "  "}, {"wav": Path("/")}])
def test_options_that_cannot_be_meant_are_refused_before_anything_starts(standin, test_it, option):
    bundle = standin()
    with pytest.raises(UsageError):
        test_it(bundle, replace(QUICK, **option))
    assert bundle.seen() == []


@linux
def test_an_engine_that_cancels_is_seen_to_rest(standin, test_it, short):
    result = test_it(standin(cancel="works"))
    assert states(result)["cancel"] == "ok"
    assert len(result.cancel.milliseconds) == QUICK.trials
    assert "processor at rest" in detail(result, "cancel")


@linux
def test_an_engine_that_computes_on_for_nobody_fails(standin, test_it, short):
    result = test_it(standin(cancel="ignored"))
    assert failed(result) == ["cancel"]
    assert "not cancelled" in detail(result, "cancel")
    assert result.cancel.milliseconds == ()


@pytest.mark.parametrize(("cancel", "good"), [("works", True), ("ignored", False)])
def test_without_processor_times_the_next_answer_tells(
    standin, test_it, short, monkeypatch, cancel, good
):
    monkeypatch.setattr(cancelling.processes, "visible", lambda: False)
    monkeypatch.setattr(engine.processes, "visible", lambda: False)
    # One request at a time, as engines without workers do.
    result = test_it(standin(cancel=cancel, one_at_a_time=True))
    assert states(result)["cancel"] == ("ok" if good else "failed")
    if good:
        assert "next request answered" in detail(result, "cancel")


@linux
def test_work_that_no_processor_shows_is_judged_by_the_next_answer(standin, test_it, short):
    result = test_it(standin(cancel="elsewhere", one_at_a_time=True))
    assert "next request answered" in detail(result, "cancel")


def test_an_engine_too_quick_to_be_cancelled_is_not_blamed(standin, test_it, monkeypatch):
    monkeypatch.setattr(cancelling, "_MAX_SECONDS", 6.0)
    result = test_it(standin(cancel="works"))
    assert states(result)["cancel"] == "not offered"
    assert "too quick" in detail(result, "cancel")


def test_a_cancelled_route_that_answers_with_an_error_fails(standin, test_it):
    bundle = standin(cancel="works", faults={"/cancellable_synthesis": 500})
    assert failed(test_it(bundle)) == ["cancel"]
