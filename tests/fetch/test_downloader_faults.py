"""Each fault of a server, met by a downloader that notices few of them: the tree or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.faults import (
    Announce,
    Cut,
    Drip,
    Drop,
    Fault,
    NoLength,
    Replace,
    Reset,
    Stall,
    Status,
)
from tests.server.github import LoopbackGitHub
from tests.standins.scene import Scene
from tests.standins.world import members_of
from vvbuild.errors import SizeMismatchError, VvbuildError
from vvbuild.fetch.downloader import Limits

PAGE = b"<!DOCTYPE html><html><body>Sign in</body></html>"
FAULTS: dict[str, Fault] = {
    "cut": Cut(100),
    "reset": Reset(100),
    "dropped": Drop(),
    "too long": Announce(100_000),
    "too short": Announce(200),
    "without a length": NoLength(),
    "in drops": Drip(500),
    "a page": Replace(PAGE, "text/html"),
    "server error": Status(503, body=PAGE),
    "plain error": Status(500, body=b"no"),
}
LASTING = {
    name: fault for name, fault in FAULTS.items() if name not in ("without a length", "in drops")
}
FILES = {"core": "voicevox_core-linux-x64-{core}.zip", "models": "/0.vvm"}


def break_it(scene: Scene, component: str, *script: Fault, always: Fault | None = None) -> None:
    """Let the server play faults for one file of a component."""
    ending = FILES[component].format(core=scene.core)
    for path, resource in scene.github.storage.resources.items():
        if path.endswith(ending):
            resource.script.extend(script)
            resource.always = always or resource.always


# Nothing in a model tells its end, so one that is too long is another file.
PASSING = [
    pytest.param(component, fault, id=f"{component}-{name}")
    for component in FILES
    for name, fault in FAULTS.items()
    if (component, name) != ("models", "too long")
]


@pytest.mark.parametrize("core", [pytest.param("0.16.0", marks=pytest.mark.slow), "0.17.0"])
@pytest.mark.parametrize(("component", "fault"), PASSING)
def test_a_fault_that_passes_costs_a_run_at_most(
    github: LoopbackGitHub, tmp_path: Path, core: str, component: str, fault: Fault
) -> None:
    scene = Scene(github, tmp_path, core)
    break_it(scene, component, fault)

    directory = scene.run(component)[component].directory

    assert members_of(directory) == members_of(scene.world.direct[scene.target, component])
    assert scene.count <= 2


@pytest.mark.parametrize("component", FILES)
@pytest.mark.parametrize("fault", LASTING.values(), ids=LASTING)
def test_a_fault_that_lasts_is_an_error_and_leaves_nothing(
    github: LoopbackGitHub, tmp_path: Path, component: str, fault: Fault
) -> None:
    scene = Scene(github, tmp_path)
    break_it(scene, component, always=fault)

    with pytest.raises(VvbuildError) as caught:
        scene.run(component)

    assert caught.value.hint
    assert scene.delivered == []
    assert not (scene.work / "run").exists()


def test_a_model_that_is_too_long_is_another_file(github: LoopbackGitHub, tmp_path: Path) -> None:
    scene = Scene(github, tmp_path)
    break_it(scene, "models", FAULTS["too long"])

    with pytest.raises(SizeMismatchError):
        scene.run("models")

    assert scene.count == 1


def test_a_server_that_stalls_is_given_up(github: LoopbackGitHub, tmp_path: Path) -> None:
    scene = Scene(github, tmp_path)
    break_it(scene, "core", always=Stall(100))

    with pytest.raises(VvbuildError, match="took too long"):
        scene.run("core", limits=Limits(seconds=2, waits=()))
