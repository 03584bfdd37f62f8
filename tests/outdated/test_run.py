"""The use-case against indexes on loopback: what is proposed, what is written, what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from tests.manifest.conftest import edited
from tests.outdated.conftest import NOW, SDIST, WHEELS, days_ago, serve_npm, serve_pypi
from tests.server.faults import Status
from tests.server.http import LoopbackServer
from vvbuild.errors import (
    CancelledError,
    ManifestError,
    OfflineError,
    PermissionDeniedError,
    UnknownNameError,
    UsageError,
)
from vvbuild.fetch.session import Session
from vvbuild.manifest.release import LoadedRelease, find_release, load_release
from vvbuild.model.events import Event, Progress
from vvbuild.model.policy import Policy
from vvbuild.outdated.heirs import heirs
from vvbuild.outdated.run import OutdatedResult, Row, outdated
from vvbuild.runtime.cancel import Cancel

ORT = {"1.23.2": days_ago(300), "1.24.0": days_ago(60), "1.25.0": days_ago(2)}
PYI = {"6.17.0": days_ago(300), "6.22.3": days_ago(30), "7.0.0": days_ago(20)}
Release = Callable[..., LoadedRelease]
Ask = Callable[..., OutdatedResult]


@pytest.fixture
def ask(session: Session, policy: Callable[[str], Policy]) -> Ask:
    """Run the use-case as one command does; events go into ``ask.events``."""

    def ask(loaded: LoadedRelease, *components: str, more: str = "", **options) -> OutdatedResult:
        return outdated(
            loaded, policy=policy(more), session=session, now=NOW, emit=ask.events.append,
            cancel=options.pop("cancel", Cancel()), components=components, **options,
        )  # fmt: skip

    ask.events: list[Event] = []
    return ask


@pytest.fixture
def indexes(server: LoopbackServer) -> LoopbackServer:
    serve_pypi(server, "onnxruntime", ORT)
    serve_pypi(server, "pyinstaller", PYI, SDIST)
    return server


def row(result: OutdatedResult, component: str) -> Row:
    return next(row for row in result.rows if row.component == component)


def moves(rows: Sequence[Row]) -> dict[str, str]:
    return {row.component: row.proposed for row in rows if row.proposed}


def test_each_component_is_told_with_what_it_could_be(
    indexes: LoopbackServer, release: Release, ask: Ask
) -> None:
    result = ask(release(), more='[components.engine]\nnot_followed = "no"\n')

    assert [each.component for each in result.rows] == [
        "engine", "onnxruntime", "python", "pyinstaller",
    ]  # fmt: skip
    assert row(result, "onnxruntime") == Row(
        "onnxruntime", "1.23.2", "outdated", "1.24.0", "1.25.0", "age",
        "Too young, until 2026-12-06.", days_ago(60), ("pypi:onnxruntime",),
    )  # fmt: skip
    assert row(result, "pyinstaller").obstacle == "series"
    assert row(result, "engine") == Row("engine", "0.1.0", "not-followed", reason="no")
    assert row(result, "python").status == "not-followed"
    assert Progress("look up versions", 2, 2, "projects") in ask.events


def test_nothing_is_written_unless_it_is_asked_for(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    loaded = release()

    result = ask(loaded)

    assert not result.written
    assert loaded.path.read_bytes() == text.encode()
    assert result.edit is not None
    assert result.edit.after == text.replace("1.23.2", "1.24.0").replace("6.17.0", "6.22.3")
    assert result.lock_stale


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pins_are_written_and_every_other_byte_stays(
    end: str, indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    text = text.replace("\n", end)
    loaded = release(text)

    result = ask(loaded, write=True)

    assert result.written
    assert loaded.path.read_bytes().decode() == text.replace("1.23.2", "1.24.0").replace(
        "6.17.0", "6.22.3"
    )
    again = load_release(loaded.path)
    assert again.row.components["onnxruntime"].version == "1.24.0"
    assert moves(ask(again).rows) == {}


def test_an_inherited_pin_is_written_into_the_releases_own_file(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    base = release()
    child = release(
        'schema = "vvbuild.release/1"\nname = "child"\nsummary = "x"\nextends = "tiny"\n\n'
        '[components.pyinstaller]\nversion = "6.17.0"\n',
        "child",
    )

    ask(child, write=True)

    assert base.path.read_bytes() == text.encode()
    assert child.path.read_text().endswith(
        '[components.pyinstaller]\nversion = "6.22.3"\n\n'
        '[components.onnxruntime]\nversion = "1.24.0"\n'
    )
    assert load_release(child.path).row.components["onnxruntime"].flavour == "pypi"


def test_what_would_be_no_release_is_never_written(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    text += (
        '\n[[artifacts]]\ncomponent = "pyinstaller"\ntargets = ["*"]\nsource = "url"\n'
        'references = ["https://host.example/pyinstaller-6.22.3.tar.gz"]\n'
    )
    loaded = release(text)

    with pytest.raises(ManifestError, match=r"tiny\.toml:\d+: .*is also the name of"):
        ask(loaded, write=True)

    assert loaded.path.read_bytes() == text.encode()


def test_a_read_only_manifest_is_refused_and_stays(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    loaded = release()
    loaded.path.chmod(0o444)

    with pytest.raises(PermissionDeniedError, match="read-only"):
        ask(loaded, write=True)

    assert loaded.path.read_bytes() == text.encode()
    assert ask(loaded).edit is not None


def test_pins_of_single_targets_stay_and_that_is_said(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    text = edited(
        text, 'flavour = "pypi"\n', 'flavour = "pypi"\nversions = { win-x64-cpu = "1.20.0" }\n'
    )
    loaded = release(text)

    result = ask(loaded, "onnxruntime", write=True)

    assert row(result, "onnxruntime").notes == (
        "Pins of single targets stay as they are: win-x64-cpu 1.20.0.",
    )
    assert loaded.path.read_text() == text.replace("1.23.2", "1.24.0")


def test_a_source_that_fails_costs_its_components_only(
    server: LoopbackServer, release: Release, ask: Ask
) -> None:
    serve_pypi(server, "onnxruntime", ORT)
    server.serve("/simple/pyinstaller/", b"", always=Status(403))

    result = ask(release())

    assert moves(result.rows) == {"onnxruntime": "1.24.0"}
    failed = row(result, "pyinstaller")
    assert failed.status == "unknown"
    assert "answered 403 Forbidden" in failed.reason
    assert not result.nobody_answered


def test_nobody_answered_is_told_apart(server: LoopbackServer, release: Release, ask: Ask) -> None:
    result = ask(release())

    assert {each.status for each in result.rows} == {"unknown", "not-followed"}
    assert result.nobody_answered
    assert not ask(release(), "engine").nobody_answered


def test_offline_nobody_is_asked(
    release: Release, policy: Callable[[str], Policy], indexes: LoopbackServer
) -> None:
    with Session(offline=True) as session:
        result = outdated(
            release(), policy=policy(""), session=session, now=NOW, emit=lambda _: None,
            cancel=Cancel(),
        )  # fmt: skip

    assert result.nobody_answered
    assert "--offline forbids it" in row(result, "onnxruntime").reason
    assert indexes.requests == []
    assert OfflineError.exit_status == 3


def test_an_interruption_is_no_failure_of_a_source(
    indexes: LoopbackServer, release: Release, ask: Ask
) -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        ask(release(), cancel=cancel)


def test_only_the_components_that_were_named_are_looked_up(
    indexes: LoopbackServer, release: Release, ask: Ask
) -> None:
    result = ask(release(), "pyinstaller")

    assert [each.component for each in result.rows] == ["pyinstaller"]
    assert indexes.asked("/simple/onnxruntime/") == []


def test_a_component_that_is_none_is_named_with_the_nearest(release: Release, ask: Ask) -> None:
    with pytest.raises(UnknownNameError, match="did you mean pyinstaller"):
        ask(release(), "pyinstaler")
    with pytest.raises(UsageError, match="tiny has no component 'core'"):
        ask(release(), "core")


def test_a_provided_component_is_looked_up_with_its_provider(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    provided = (
        '\n[components.directml]\nversion = "1.15.4"\nsource = "npm"\nprovided_by = "onnxruntime"\n'
    )

    result = ask(release(text + provided), "directml")

    assert [each.component for each in result.rows] == ["onnxruntime", "directml"]
    assert row(result, "directml") == Row(
        "directml", "1.15.4", "provided", "1.15.4", reason="Comes with onnxruntime.",
        notes=("Nobody told what onnxruntime 1.24.0 holds: look it up and pin it.",),
    )  # fmt: skip


def test_several_indexes_must_agree(
    server: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    serve_pypi(server, "onnxruntime", ORT, (WHEELS[0],))
    serve_npm(server, "onnxruntime-node", {"1.23.2": days_ago(300), "1.23.9": days_ago(40)})
    text = edited(
        text,
        "pypi:onnxruntime/{version}/onnxruntime-{version}-py3-none-win_amd64.whl",
        "npm:onnxruntime-node/{version}",
    )
    text = edited(
        text, 'targets = ["win-x64-cpu"]\n', 'targets = ["win-x64-cpu"]\nsource = "npm"\n'
    )

    found = row(ask(release(text), "onnxruntime"), "onnxruntime")

    assert (found.status, found.proposed) == ("held-back", None)
    assert found.reason == "npm:onnxruntime-node has no 1.25.0 for win-x64-cpu."
    assert found.source == ("pypi:onnxruntime", "npm:onnxruntime-node")


def test_a_pin_that_was_withdrawn_is_told(
    server: LoopbackServer, release: Release, ask: Ask
) -> None:
    serve_pypi(server, "pyinstaller", {"6.17.0": days_ago(9)}, SDIST, yanked=("6.17.0",))

    found = row(ask(release(), "pyinstaller"), "pyinstaller")

    assert found.status == "current"
    assert found.notes == ("6.17.0 is yanked at pypi:pyinstaller.",)


def test_a_pin_that_cannot_be_compared_is_left_alone(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str
) -> None:
    loaded = release(edited(text, "'6.17.0'", "'develop'"))

    found = row(ask(loaded, "pyinstaller"), "pyinstaller")

    assert found.status == "not-followed"
    assert found.reason == "develop is no version that could be compared."


def test_the_command_line_moves_age_and_pre_releases(
    server: LoopbackServer, release: Release, ask: Ask
) -> None:
    serve_pypi(server, "pyinstaller", {**PYI, "6.23.0rc1": days_ago(40)}, SDIST)
    loaded = release()

    assert moves(ask(loaded, "pyinstaller").rows) == {"pyinstaller": "6.22.3"}
    assert moves(ask(loaded, "pyinstaller", prereleases=True).rows) == {"pyinstaller": "6.23.0rc1"}
    assert moves(ask(loaded, "pyinstaller", min_age=timedelta(weeks=8)).rows) == {}


def test_what_fits_together_is_listed_with_what_stays(
    indexes: LoopbackServer, release: Release, ask: Ask
) -> None:
    together = (
        '[[together]]\ncomponents = ["onnxruntime", "pyinstaller", "core"]\nwhy = "they meet"\n'
        'steps = ["look"]\n[[together]]\ncomponents = ["core", "models"]\nwhy = "no"\n'
    )

    (group,) = ask(release(), "pyinstaller", more=together).groups

    assert (group.why, group.steps) == ("they meet", ("look",))
    assert [(each.component, each.pinned, each.proposed) for each in group.members] == [
        ("onnxruntime", "1.23.2", None), ("pyinstaller", "6.17.0", "6.22.3"),
    ]  # fmt: skip
    assert ask(release(), "engine", more=together).groups == ()


def test_releases_that_inherit_a_pin_move_along() -> None:
    loaded = find_release("0.25.1")

    # 0.25.2 says its models itself, and inherits PyInstaller.
    assert heirs(loaded, ["models"]) == ()
    assert heirs(loaded, ["pyinstaller"]) == ("0.25.2", "nemo-0.26.0-preview.0")
    assert heirs(loaded, ["models", "onnxruntime"]) == ("0.25.2", "nemo-0.26.0-preview.0")
    assert heirs(find_release("0.25.2"), ["pyinstaller"]) == ()
    assert heirs(find_release("0.15.1"), ["onnxruntime"])[-1] == "0.24.1"
