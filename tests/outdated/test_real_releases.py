"""Real releases, with what GitHub had listed in December 2026 as far as it matters here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.outdated.conftest import NOW, SDIST, days_ago, serve_pypi
from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer
from vvbuild.fetch.session import Session
from vvbuild.manifest.policy import update_policy
from vvbuild.manifest.release import find_release
from vvbuild.outdated.run import OutdatedResult, Row, outdated
from vvbuild.runtime.cancel import Cancel


@dataclass(frozen=True)
class Listed:
    tag: str
    time: str
    assets: tuple[str, ...] = ()
    prerelease: bool = False


@dataclass
class Hub:
    """What GitHub lists, newest first, and who was asked for."""

    server: LoopbackServer
    projects: dict[str, list[Listed]]

    def publish(self) -> None:
        """Let the server list it."""
        github = LoopbackGitHub(self.server, storage=self.server)
        for project, releases in self.projects.items():
            # A project without a release is there all the same.
            github.release(project, "draft", {}, draft=True)
            for each in reversed(releases):
                github.release(
                    project, each.tag, dict.fromkeys(each.assets, b"x"), updated_at=each.time,
                    prerelease=each.prerelease, published_at=each.time,
                )  # fmt: skip

    @property
    def asked(self) -> set[str]:
        """The projects whose list somebody wanted."""
        paths = [request.path.removeprefix("/api/repos/") for request in self.server.requests]
        return {path.removesuffix("/releases") for path in paths if path.endswith("/releases")}


PLATFORMS = ("windows-x64", "linux-x64", "linux-arm64", "osx-x64", "osx-arm64")
ORT = ("win-x64", "win-x64-dml", "win-x64-cuda", "linux-x64", "linux-x64-cuda", "linux-arm64",
       "osx-x86_64", "osx-arm64")  # fmt: skip
LIBRARIES = ("CUDA-windows-x64.zip", "CUDA-linux-x64.zip", "DirectML-windows-x64.zip")


def core(version: str, days: float, *, prerelease: bool = False) -> Listed:
    names = [f"voicevox_core-{each}-{version}.zip" for each in PLATFORMS]
    names += [f"download-{each}{'.exe' if 'win' in each else ''}" for each in PLATFORMS]
    return listed(version, days, names, prerelease=prerelease)


def ort(version: str, days: float) -> Listed:
    names = [f"voicevox_onnxruntime-{each}-{version}.tgz" for each in ORT]
    return listed(f"voicevox_onnxruntime-{version}", days, names)


def listed(tag: str, days: float, names: list[str], *, prerelease: bool = False) -> Listed:
    time = days_ago(days).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Listed(tag, time, tuple(names), prerelease)


@pytest.fixture
def hub(server: LoopbackServer) -> Hub:
    """A GitHub of our own."""
    libraries, models = list(LIBRARIES), ["0.vvm", "n0.vvm", "README.txt", "TERMS.txt"]
    return Hub(server, {
        "VOICEVOX/voicevox_core": [
            core("0.18.0-preview.0", 30, prerelease=True), core("0.17.0", 109),
            core("0.16.4", 200), core("0.16.2", 420),
        ],
        "VOICEVOX/onnxruntime-builder": [
            ort("1.23.2", 150), ort("1.17.3", 600), listed("main", 900, []),
        ],
        "VOICEVOX/voicevox_additional_libraries": [
            listed("0.3.0", 131, libraries), listed("0.2.1", 250, libraries),
            listed("0.2.0", 500, libraries),
        ],
        "VOICEVOX/voicevox_vvm": [
            listed("0.17.0", 2, models), listed("0.16.5", 40, models[1:]),
            listed("0.16.4", 240, models),
        ],
        "VOICEVOX/voicevox_resource": [],
    })  # fmt: skip


@pytest.fixture
def ask(hub: Hub, session: Session, server: LoopbackServer) -> Callable[..., OutdatedResult]:
    serve_pypi(server, "pyinstaller", {"6.17.0": days_ago(400)}, SDIST)

    def ask(release: str, *components: str, **options: object) -> OutdatedResult:
        hub.publish()
        return outdated(
            find_release(release), policy=update_policy(), session=session, now=NOW,
            emit=lambda _: None, cancel=Cancel(), components=components, **options,
        )  # fmt: skip

    return ask


def rows(result: OutdatedResult) -> dict[str, Row]:
    return {row.component: row for row in result.rows}


def test_the_set_of_0_25_2_moves_with_what_its_libraries_pack(
    ask: Callable[..., OutdatedResult], hub: Hub
) -> None:
    result = ask("0.25.2")

    assert {name: row.proposed for name, row in rows(result).items() if row.proposed} == {
        "core": "0.17.0", "downloader": "0.17.0", "onnxruntime": "1.23.2",
        "additional-libraries": "0.3.0", "cuda": "12.8.1", "cudnn": "9.8.0.87",
        "directml": "1.15.4",
    }  # fmt: skip
    assert rows(result)["cuda"].reason == "As additional-libraries 0.3.0 packs it."
    # A project is asked once, whoever comes from it.
    assert hub.asked == set(hub.projects)
    # All pins are inherited or the release's own: only its own file changes.
    assert result.edit is not None
    assert result.edit.after.count("version = ") == result.edit.before.count("version = ") + 6
    (group,) = result.groups
    assert {each.component for each in group.members if each.proposed is None} == {"models"}


def test_models_that_are_too_young_or_lack_their_files_wait(
    ask: Callable[..., OutdatedResult],
) -> None:
    models = rows(ask("0.25.2", "models"))["models"]

    assert (models.status, models.newest, models.obstacle) == ("held-back", "0.17.0", "age")
    assert models.reason == "Too young, until 2026-12-06."


def test_onnxruntime_alone_would_be_the_error_of_b003(ask: Callable[..., OutdatedResult]) -> None:
    result = ask("0.25.2", "onnxruntime")

    assert {each.rule for each in result.new if each.severity == "error"} >= {"core-ort-filename"}
    finding = next(each for each in result.new if each.rule == "core-ort-filename")
    assert (finding.path or "").startswith(str(find_release("0.25.2").path))


def test_libraries_whose_content_nobody_wrote_down_are_told(
    ask: Callable[..., OutdatedResult], hub: Hub
) -> None:
    hub.projects["VOICEVOX/voicevox_additional_libraries"].insert(
        0, listed("0.4.0", 20, list(LIBRARIES))
    )

    cuda = rows(ask("0.25.2", "cuda"))["cuda"]

    assert cuda.proposed is None
    assert cuda.notes == (
        "Nobody told what additional-libraries 0.4.0 holds: look it up and pin it.",
    )


def test_a_preview_of_the_core_is_proposed_where_it_is_wanted(
    ask: Callable[..., OutdatedResult],
) -> None:
    assert rows(ask("main", "core"))["core"].status == "current"
    wanted = rows(ask("main", "core", prereleases=True))["core"]
    assert wanted.proposed == "0.18.0-preview.0"


def test_a_project_without_releases_is_not_followed(ask: Callable[..., OutdatedResult]) -> None:
    resource = rows(ask("0.25.2", "resource"))["resource"]

    assert resource.status == "not-followed"
    assert resource.reason == "github:VOICEVOX/voicevox_resource lists no versions."


def test_a_project_that_is_gone_costs_only_its_components(
    ask: Callable[..., OutdatedResult], hub: Hub
) -> None:
    del hub.projects["VOICEVOX/voicevox_core"]

    result = ask("0.25.2")

    unknown = {name for name, row in rows(result).items() if row.status == "unknown"}
    assert unknown == {"core", "downloader"}
    assert rows(result)["onnxruntime"].proposed == "1.23.2"
    assert not result.nobody_answered


def test_microsofts_tags_are_read_for_older_engines(
    ask: Callable[..., OutdatedResult], hub: Hub
) -> None:
    names = [
        "onnxruntime-win-x64-{}.zip", "Microsoft.ML.OnnxRuntime.DirectML.{}.zip",
        "onnxruntime-win-x64-gpu-{}.zip", "onnxruntime-osx-x86_64-{}.tgz",
        "onnxruntime-osx-arm64-{}.tgz", "onnxruntime-linux-x64-{}.tgz",
        "onnxruntime-linux-aarch64-{}.tgz", "onnxruntime-linux-x64-gpu-{}.tgz",
    ]  # fmt: skip
    hub.projects["microsoft/onnxruntime"] = [
        listed("v1.20.0", 700, []),
        *(listed(f"v{each}", 800, [name.format(each) for name in names])
          for each in ("1.14.1", "1.13.1")),
    ]  # fmt: skip

    row = rows(ask("0.24.1", "onnxruntime"))["onnxruntime"]

    assert (row.pinned, row.proposed, row.newest) == ("1.13.1", "1.14.1", "1.20.0")
    assert row.obstacle == "files"
