"""What GitHub Actions reads: annotations, groups, the job's summary."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.cli.ui import Ui
from vvbuild.errors import LockError
from vvbuild.model.events import Note, StepFinished, StepStarted
from vvbuild.model.finding import Finding
from vvbuild.report.document import Line, Raw, Reported, Table, View
from vvbuild.report.github import (
    annotation_lines,
    error_annotation,
    summary,
    workflow_command,
    write_summary,
)
from vvbuild.report.progress import GitHubLines
from vvbuild.resources import data_root

ANYTHING = st.text(st.characters(codec=None, categories=None))
# The runner's own reading of a line (actions/runner, ActionCommand.cs): "::" at the start behind
# blanks, a name, perhaps a blank and properties, "::", the message.
COMMAND = re.compile(r"\s*::(?P<name>[a-z-]+)(?: (?P<properties>[^\r\n]*?))?::(?P<data>[^\r\n]*)")


def obeyed(output: str) -> list[tuple[str, dict[str, str], str]]:
    """What a runner makes of a log: the commands in it, unescaped as it does."""
    found = []
    # It reads lines; whatever ends a line for it may not stand in one.
    for line in re.split(r"\r\n|\r|\n", output):
        if match := COMMAND.fullmatch(line):
            properties = {}
            for part in filter(None, (match["properties"] or "").split(",")):
                key, _, value = part.partition("=")
                properties[key] = unescaped(value, {"%3A": ":", "%2C": ","})
            found.append((match["name"], properties, unescaped(match["data"], {})))
        else:
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
    return found


def unescaped(text: str, more: dict[str, str]) -> str:
    codes = {"%0D": "\r", "%0A": "\n", "%25": "%", **more}
    return re.sub("|".join(codes), lambda match: codes[match[0]], text)


def finding(**changes: object) -> Finding:
    facts = {
        "rule": "cuda-major", "severity": "error", "message": "CUDA 12 is pinned",
        "target": "win-x64-cuda", "why": "It cannot be loaded.", "source": "a/b#1",
        "fix": "Pin 11.",
    }  # fmt: skip
    return Finding(**facts | changes)  # type: ignore[arg-type]


def view(*reported: Reported) -> View:
    return View({}, findings=reported)


def test_an_annotation_points_at_the_line_and_says_why_and_what_to_do() -> None:
    place = "manifests/releases/0.24.1.toml"
    line = Reported(finding(), "0.24.1", place, 12, in_checkout=True)

    ((name, properties, text),) = obeyed("\n".join(annotation_lines(view(line))))

    assert name == "error"
    assert properties == {
        "file": place, "line": "12", "title": "vvbuild: cuda-major",
    }  # fmt: skip
    assert text.split("\n") == [
        "CUDA 12 is pinned",
        "0.24.1: win-x64-cuda",
        "why: It cannot be loaded. (a/b#1)",
        "→ Pin 11.",
    ]


def test_one_wrong_pin_is_one_annotation_however_many_targets_it_breaks() -> None:
    same = [
        Reported(finding(target=target), release, "base.toml", 3)
        for release in ("0.25.1", "0.25.2")
        for target in ("win-x64-cuda", "linux-x64-cuda")
    ]

    ((_, _, text),) = obeyed("\n".join(annotation_lines(view(*same))))

    targets = "win-x64-cuda, linux-x64-cuda"
    assert text.split("\n")[1] == f"0.25.1: {targets}; 0.25.2: {targets}"


def test_what_is_waived_is_a_notice_with_the_reason() -> None:
    ((name, _, text),) = obeyed(
        "\n".join(annotation_lines(view(Reported(finding(waived="It was reported to work.")))))
    )

    assert name == "notice"
    assert text.endswith("waived: It was reported to work.")


@pytest.mark.parametrize(("severity", "level"), [("warning", "warning"), ("info", "notice")])
def test_severities_are_those_of_github(severity: str, level: str) -> None:
    (line,) = annotation_lines(view(Reported(finding(severity=severity))))
    assert obeyed(line)[0][0] == level


def test_a_file_inside_a_bundle_is_named_in_words_since_no_annotation_can_point_there() -> None:
    (line,) = annotation_lines(view(Reported(finding(), file="engine_internal/x.so")))

    ((_, properties, text),) = obeyed(line)
    assert "file" not in properties
    assert text.startswith("engine_internal/x.so: CUDA 12 is pinned")


def test_a_line_outside_of_the_checkout_is_named_in_words() -> None:
    (line,) = annotation_lines(view(Reported(finding(), "0.25.2", "manifests/a.toml", 3)))

    ((_, properties, text),) = obeyed(line)
    assert set(properties) == {"title"}
    assert text.startswith("manifests/a.toml:3: CUDA 12 is pinned")


def test_a_name_that_holds_a_line_end_is_still_one_line() -> None:
    (line,) = annotation_lines(view(Reported(finding(), file="a\n::error::b\r.so")))

    ((_, _, text),) = obeyed(line)
    assert text.startswith("a\\x0a::error::b\\x0d.so: CUDA 12 is pinned\n")


def test_the_gravest_stand_first_since_github_shows_only_ten() -> None:
    found = [finding(rule="a", severity="info"), finding(rule="b", waived="yes"), finding(rule="c")]
    lines = annotation_lines(view(*map(Reported, found)))
    assert [obeyed(line)[0][1]["title"][-1] for line in lines] == ["c", "a", "b"]


@given(ANYTHING, ANYTHING, ANYTHING)
def test_no_text_begins_a_command_of_its_own(text: str, title: str, file: str) -> None:
    line = workflow_command("warning", text, title=title, file=file)

    ((name, properties, said),) = obeyed(line)
    assert (name, set(properties)) == ("warning", {"title", "file"})
    assert len(said.split("\n")) == len(text.split("\n"))


@given(
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))).filter(lambda t: "##" not in t)
)
def test_what_is_harmless_is_said_word_for_word(text: str) -> None:
    said = f"x{text}"
    assert obeyed(workflow_command("notice", said, title=said)) == [
        ("notice", {"title": said}, said)
    ]


def test_a_failure_is_an_annotation_with_its_code_and_what_to_do() -> None:
    error = LockError("A gap.\n::set-output name=x::y", hint="Run it again.")

    ((name, properties, text),) = obeyed(error_annotation(error))

    assert (name, properties["title"]) == ("error", "vvbuild: lock-invalid")
    assert text == "A gap.\n\\x3a:set-output name=x::y\n→ Run it again."


def test_the_work_is_folded_away_and_warnings_are_not() -> None:
    log = io.StringIO()
    with GitHubLines("bundle", log) as listener:
        assert log.getvalue() == ""
        listener(StepStarted("freeze"))
        listener(Note("slow\n::error::no", level="warning"))

    assert log.getvalue().startswith("::group::vvbuild bundle\n")
    assert log.getvalue().endswith("::endgroup::\n")
    names = [name for name, _, _ in obeyed(log.getvalue())]
    assert names == ["group", "warning", "endgroup"]


def test_work_of_which_there_is_nothing_to_tell_makes_no_group() -> None:
    log = io.StringIO()
    with GitHubLines("bundle", log) as listener:
        listener(StepFinished("freeze", cached=True, seconds=0.0))

    assert log.getvalue() == ""


@given(st.lists(st.builds(Note, ANYTHING, st.sampled_from(["info", "warning", "debug"]))))
def test_no_note_ends_a_group_or_begins_a_command(notes: list[Note]) -> None:
    log = io.StringIO()
    with GitHubLines("bundle", log, verbose=True) as listener:
        for note in notes:
            listener(note)

    names = [name for name, _, _ in obeyed(log.getvalue())]
    warnings = ["warning"] * sum(note.level == "warning" for note in notes)
    assert names == (["group", *warnings, "endgroup"] if notes else [])


# The summary


def test_a_summary_has_tables_and_sentences() -> None:
    text = summary("check", View({}, (Table(("a", "b"), (("1", "2"),), right=(1,)), Line("fine"))))

    assert text.splitlines() == [
        "### vvbuild check", "", "| a | b |", "| --- | --: |", "| 1 | 2 |", "",
        "```text", "fine", "```", "",
    ]  # fmt: skip


@given(ANYTHING, ANYTHING)
def test_no_name_makes_markup_or_leaves_its_place(cell: str, sentence: str) -> None:
    document = View({}, (Table(("name", "size"), ((cell, "1"),)), Line(sentence)))
    lines = summary("verify", document).splitlines()

    row = lines[4]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3
    assert not re.search(r"(?<!\\)[<\[`*]", row)
    fences = [line for line in lines if re.fullmatch(r"`{3,}(text)?", line)]
    if fences:
        assert fences[-1] == fences[0].removesuffix("text")
        assert not any(fences[-1] in line for line in lines[7:-2])


def test_a_line_for_a_program_is_no_summary() -> None:
    assert summary("matrix", View({}, (Raw("{}"),))) == ""


def test_a_summary_stays_below_what_github_takes_whatever_stood_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    page.write_bytes(b"x" * ((1 << 20) - 3))

    assert "1 MiB" in (write_summary("音x") or "")
    assert page.stat().st_size == (1 << 20) - 3
    assert write_summary("音") is None
    assert page.stat().st_size == 1 << 20


def test_a_summary_that_cannot_be_written_is_told_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "such"))
    assert write_summary("x") == "No such file or directory"
    assert Ui("targets", how="github").show(View({}, (Line("fine"),))) == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert write_summary("x\n") is None
    assert write_summary("y\n") is None
    assert (tmp_path / "summary").read_text() == "x\ny\n"
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert write_summary("x") is None


# The whole command


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vvbuild", *arguments],
        capture_output=True, text=True, cwd=data_root(), env=os.environ | environment,
    )  # fmt: skip


WRONG = ("check", "--release", "0.25.2", "--set", "onnxruntime=1.23.2")


def test_check_points_at_the_line_of_the_manifest_that_pins_it() -> None:
    done = run(*WRONG, "--format", "github")

    assert done.returncode == 1
    errors = [each for each in obeyed(done.stdout) if each[0] == "error"]
    places = {each[1]["title"]: (each[1]["file"], int(each[1]["line"])) for each in errors}
    file, line = places["vvbuild: core-ort-filename"]
    text = (data_root() / file).read_text(encoding="utf-8").splitlines()
    assert text[line - 2 : line] == ["[components.onnxruntime]", 'version = "1.17.3"']


def test_on_actions_it_comes_by_itself(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    done = run(*WRONG, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page))

    assert done.returncode == 1
    assert any(name == "error" for name, _, _ in obeyed(done.stdout))
    assert "core-ort-filename" in page.read_text(encoding="utf-8")


def test_on_actions_the_matrix_is_still_one_line(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    done = run("matrix", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page))

    assert done.stdout.startswith('{"include":[')
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "--release", "0.25.22"), "unknown-name"),
        (("check", "--relase", "0.25.2"), "usage"),
        (("bundle", "--target", "linux-x64-cdua"), "unknown-name"),
    ],
)
def test_a_failing_command_annotates_its_error_beside_the_readable_text(
    words: tuple[str, ...], code: str
) -> None:
    done = run(*words, "--format", "github")

    assert done.returncode == 2
    # A file that a script lets it write to gets no annotation.
    assert done.stdout == ""
    assert done.stderr.startswith(f"error[{code}]: ")
    ((name, properties, _),) = obeyed(done.stderr)
    assert (name, properties) == ("error", {"title": f"vvbuild: {code}"})


@pytest.mark.parametrize("how", ["auto", "rich", "plain", "json", "github", "sarif"])
def test_no_format_changes_the_exit_status(how: str) -> None:
    assert run(*WRONG, "--format", how).returncode == 1
    assert run("check", "--release", "0.24.1", "--format", how).returncode == 0


def test_who_wants_only_failures_gets_no_annotations_of_what_is_none() -> None:
    done = run("check", "--release", "0.25.2", "--quiet", "--format", "github")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert obeyed(run(*WRONG, "--quiet", "--format", "github").stdout)


@pytest.mark.parametrize("words", [("targets",), ("releases",), ("explain", "cuda-major")])
def test_commands_without_findings_say_what_they_say_as_plain_text(words: tuple[str, ...]) -> None:
    done = run(*words, "--format", "github")

    assert done.returncode == 0
    assert obeyed(done.stdout) == []
    assert done.stdout == run(*words, "--format", "plain").stdout


def test_a_finding_that_is_not_shown_is_not_annotated() -> None:
    done = run(*WRONG, "--min-severity", "error", "--format", "github")
    assert {name for name, _, _ in obeyed(done.stdout)} == {"error"}
