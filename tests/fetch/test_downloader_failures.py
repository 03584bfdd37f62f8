"""Every way in which the core's downloader fails, and the error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.faults import Cut, Replace, Status
from tests.server.github import LoopbackGitHub, limit_reached
from tests.standins.downloader import REPOSITORIES
from tests.standins.scene import QUICK, Scene
from tests.standins.world import ORT
from vvbuild.errors import (
    DigestMismatchError,
    DiskFullError,
    DownloaderContractError,
    DownloaderError,
    ExitStatus,
    MemoryShortError,
    MissingError,
    NetworkError,
    NotFoundOnServerError,
    RateLimitedError,
    UsageError,
)
from vvbuild.fetch.downloader import Limits, Program
from vvbuild.manifest.downloader import find_contract
from vvbuild.model.digest import Digest
from vvbuild.model.events import Note

TAG = f"voicevox_onnxruntime-{ORT}"


@pytest.fixture
def scene(github: LoopbackGitHub, tmp_path: Path) -> Scene:
    return Scene(github, tmp_path)


def test_a_release_that_is_gone_is_asked_for_once(scene: Scene) -> None:
    scene.github.delete(REPOSITORIES["c_api"], scene.core)

    with pytest.raises(NotFoundOnServerError) as caught:
        scene.run("core")

    assert "404" in caught.value.context["last lines"]
    assert scene.count == 1


def test_a_missing_asset_is_named_by_the_last_lines(scene: Scene) -> None:
    scene.github.release(REPOSITORIES["c_api"], scene.core, {})

    with pytest.raises(NotFoundOnServerError) as caught:
        scene.run("core")

    asset = f"voicevox_core-linux-x64-{scene.core}.zip"
    assert asset in caught.value.context["last lines"]


@pytest.mark.parametrize("status", [403, 429])
def test_a_rate_limit_is_named_and_not_run_into_again(scene: Scene, status: int) -> None:
    scene.github.play(REPOSITORIES["c_api"], scene.core, always=limit_reached(60, status=status))

    with pytest.raises(RateLimitedError) as caught:
        scene.run("core")

    assert scene.count == 1
    assert "GH_TOKEN" in str(caught.value.hint)
    assert "--fetcher direct" in str(caught.value.hint)


def test_arguments_that_it_refuses_are_a_contract_that_has_changed(scene: Scene) -> None:
    scene_of_tags = scene.program(core="0.15.9")

    with pytest.raises(DownloaderContractError) as caught:
        scene.run("core", program=scene_of_tags)

    assert "--only c-api" in caught.value.context["arguments"]
    assert scene.count == 1
    assert caught.value.exit_status is ExitStatus.EXTERNAL


def test_a_kill_from_outside_is_named_as_a_lack_of_memory(scene: Scene) -> None:
    program = scene.program("os.kill(os.getpid(), 9)")

    with pytest.raises(MemoryShortError) as caught:
        scene.run("core", program=program)

    assert "holds whole archives in memory" in caught.value.message
    assert "--fetcher direct" in str(caught.value.hint)
    assert scene.count == 1


def test_an_allocation_that_failed_is_a_lack_of_memory(scene: Scene) -> None:
    line = "memory allocation of 2147483648 bytes failed"
    program = scene.program(f"print({line!r}, file=sys.stderr, flush=True); os.abort()")

    with pytest.raises(MemoryShortError):
        scene.run("core", program=program)


def test_a_full_disk_is_named(scene: Scene) -> None:
    program = scene.program(
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999))"
    )

    with pytest.raises(DiskFullError) as caught:
        scene.run("core", program=program)

    assert caught.value.exit_status is ExitStatus.RESOURCES
    assert scene.delivered == []


def test_any_other_failure_is_told_with_its_last_lines_after_all_tries(scene: Scene) -> None:
    program = scene.program(
        "print('first'); print('\\x1b[31mboom\\x1b[0m\\x07', file=sys.stderr); sys.exit(3)"
    )

    with pytest.raises(DownloaderError) as caught:
        scene.run("core", program=program)

    lines = caught.value.context["last lines"].splitlines()
    assert sorted(lines) == ["boom", "first"]
    assert "ended with 3" in caught.value.message
    assert scene.count == 1 + len(QUICK.waits)


def test_a_failure_that_passes_costs_one_more_run_of_one_component(scene: Scene) -> None:
    flag = scene.directory / "failed"
    program = scene.program(
        f"if not os.path.exists({str(flag)!r}):\n    open({str(flag)!r}, 'w'); sys.exit(1)"
    )

    delivered = scene.run(program=program)

    assert len(delivered) == 4
    assert scene.count == 4 + 1


def test_a_program_that_hangs_is_ended_by_the_timeout(scene: Scene) -> None:
    program = scene.program("import time; print('here', flush=True); time.sleep(600)")

    with pytest.raises(DownloaderError) as caught:
        scene.run("core", program=program, limits=Limits(seconds=1.5, waits=(0.01,)))

    assert "took too long" in caught.value.message
    assert caught.value.context["last lines"] == "here"
    assert scene.count == 1


def test_a_program_that_leaves_nothing_is_no_success(scene: Scene) -> None:
    program = scene.program("sys.exit(0)")

    with pytest.raises(DownloaderError, match="left nothing"):
        scene.run("core", program=program)


def test_endless_output_is_kept_in_bounds(scene: Scene) -> None:
    program = scene.program("for _ in range(300): print('x' * 100_000)\nsys.exit(1)")

    with pytest.raises(DownloaderError) as caught:
        scene.run("core", program=program)

    assert len(caught.value.context["last lines"]) < 100_000


def test_a_cut_connection_is_tried_again(scene: Scene) -> None:
    name = f"voicevox_core-linux-x64-{scene.core}.zip"
    resource = next(
        each for path, each in scene.github.storage.resources.items() if path.endswith(name)
    )
    # It tries twice itself, so the second run is the one that gets it.
    resource.script.extend([Cut(100), Cut(200)])

    delivered = scene.run("core")

    assert set(delivered) == {"core"}
    assert scene.count == 2
    assert any("Next attempt" in event.text for event in scene.events if isinstance(event, Note))


def test_an_error_page_that_it_took_for_a_model_is_tried_again(scene: Scene) -> None:
    resource = next(
        each for path, each in scene.github.storage.resources.items() if path.endswith("/0.vvm")
    )
    resource.script.append(Status(503, body=b"<!DOCTYPE html><html>later</html>"))

    delivered = scene.run("models")

    assert set(delivered) == {"models"}
    assert scene.count == 2


def test_error_pages_again_and_again_are_named_as_such(scene: Scene) -> None:
    resource = next(
        each for path, each in scene.github.storage.resources.items() if path.endswith("/0.vvm")
    )
    resource.always = Status(503, body=b"<!DOCTYPE html><html>later</html>")

    with pytest.raises(NetworkError, match="error page") as caught:
        scene.run("models")

    assert caught.value.context["of another size"] == "models/vvms/0.vvm"
    assert scene.delivered == []


def test_a_replaced_archive_is_refused_at_once(scene: Scene) -> None:
    resource = next(
        each for path, each in scene.github.storage.resources.items() if path.endswith("/0.vvm")
    )
    body = resource.body
    assert isinstance(body, bytes)
    resource.always = Replace(b"!" * len(body))

    with pytest.raises(DigestMismatchError) as caught:
        scene.run("models")

    assert caught.value.context["changed"] == "models/vvms/0.vvm"
    assert scene.count == 1
    assert scene.delivered == []


def test_a_program_that_is_not_the_locked_one_is_not_started(scene: Scene) -> None:
    program = scene.program()
    other = Program(program.path, program.contract, Digest.of_bytes(b"another"))

    with pytest.raises(DigestMismatchError, match="not started"):
        scene.run("core", program=other)

    assert scene.count == 0


def test_a_file_that_is_no_program_is_said_to_be_none(scene: Scene) -> None:
    path = scene.directory / "download"
    path.write_bytes(b"\x7fNOT")

    with pytest.raises(MissingError, match="not a program"):
        scene.run(
            "core", program=Program(path, find_contract(scene.core), Digest.of_bytes(b"\x7fNOT"))
        )


def test_what_a_downloader_cannot_bring_is_refused_before_it_runs(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    scene = Scene(github, tmp_path, "0.15.9")
    request = scene.world.request(scene.target)
    parts = {**request.parts, "models": request.parts["core"]}
    object.__setattr__(request, "parts", parts)

    with pytest.raises(UsageError, match="cannot bring models at all"):
        scene.run(request=request)

    assert scene.count == 0
