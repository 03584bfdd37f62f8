import json

import pytest

from vvbuild.cli.main import main
from vvbuild.smoke.result import CancelTimes


@pytest.fixture
def run(scratch, capsys):
    def run(*words):
        status = main(["smoke", *map(str, words)])
        return status, capsys.readouterr()

    return run


def test_the_json_document_has_the_promised_keys(standin, run, tmp_path):
    wav = tmp_path / "hello.wav"
    status, output = run(standin().path, "--json", "--wav", wav, "--text", "てすと")
    document = json.loads(output.out)
    assert (status, document["ok"], document["command"]) == (0, True, "smoke")
    assert {tuple(check) for check in document["checks"]} == {
        ("name", "ok", "state", "seconds", "detail")
    }
    assert all(check["ok"] for check in document["checks"])
    assert document["ort_version"] is None
    assert document["first_answer_s"] > 0
    assert document["speech_bytes"] == wav.stat().st_size
    assert document["cancel"] == {"trials": 0, "p50_ms": None, "p95_ms": None, "max_ms": None}
    assert "3 moras" in next(c["detail"] for c in document["checks"] if c["name"] == "audio_query")


def test_a_failed_check_is_status_1_and_shows_the_engines_last_lines(standin, run):
    status, output = run(standin(version="9.9.9", say="a strange line").path)
    assert status == 1
    assert "it says 9.9.9, engine_manifest.json says 1.2.3" in output.out
    assert "a strange line" in output.out
    assert "1 failed" in output.out


def test_an_engine_that_does_not_start_is_status_7(standin, run):
    status, output = run(standin(say="no core", exit=1).path, "--json")
    document = json.loads(output.out)
    assert status == 7
    assert document["error"]["code"] == "engine-failed"
    assert document["error"]["context"]["last lines"] == "no core"


def test_the_time_to_start_can_be_given(standin, run):
    status, output = run(standin(deaf=True).path, "--timeout", "0.5")
    assert status == 7
    assert "--timeout" in output.err


def test_what_was_kept_is_shown_also_when_nothing_started(standin, run, scratch):
    status, output = run(standin(exit=1).path, "--keep")
    (kept,) = scratch.iterdir()
    assert status == 7
    assert str(kept) in output.err
    assert (kept / "home/engine.log").is_file()


def test_percentiles_are_times_that_were_measured():
    times = CancelTimes((5.0, 1.0, 4.0, 2.0, 3.0))
    assert [times.percentile(each) for each in (50, 95, 100)] == [3.0, 5.0, 5.0]
