"""From a contract and a request to arguments: words of each generation, a call per component."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.standins.downloader import parse
from tests.standins.world import GENERATIONS, LIBRARIES, MODELS, ORT, TARGETS
from vvbuild.errors import UsageError
from vvbuild.fetch.downloader import DownloadRequest, Invocation, WantedPart, invocations
from vvbuild.manifest.downloader import core_words, find_contract
from vvbuild.model.target import Target


def request(core: str, target: str, *only: str) -> DownloadRequest:
    generation = GENERATIONS[core]
    versions = {"core": core}
    if not target.endswith("cpu"):
        versions["additional-libraries"] = LIBRARIES
    if generation != "flat":
        versions |= {"onnxruntime": ORT, "models": MODELS[generation]}
    parts = {name: WantedPart(version, {}) for name, version in versions.items()}
    return DownloadRequest(
        Target.parse(target),
        core_words(Target.parse(target)),
        parts,
        frozenset(only) if only else None,
        "[!n]*",
        tries=3,
    )


def calls(core: str, target: str, *only: str) -> dict[str, str]:
    found = invocations(find_contract(core), request(core, target, *only))
    return {each.title: " ".join(each.arguments_into("OUT")) for each in found}


def test_up_to_0_15_the_core_comes_alone_or_with_the_libraries() -> None:
    assert calls("0.15.9", "linux-arm64-cpu") == {
        "core": "--min --version 0.15.9 --device cpu --os linux --cpu-arch arm64 --output OUT"
    }
    assert calls("0.15.9", "linux-x64-cuda") == {
        "core and additional-libraries": "--version 0.15.9 --additional-libraries-version 0.2.1 "
        "--device cuda --os linux --cpu-arch x64 --output OUT"
    }


def test_the_libraries_alone_bring_the_core_along_up_to_0_15() -> None:
    assert list(calls("0.15.9", "win-x64-directml", "additional-libraries")) == [
        "core and additional-libraries"
    ]
    assert list(calls("0.15.9", "win-x64-directml", "core")) == ["core"]


def test_tags_are_asked_for_in_0_16() -> None:
    assert calls("0.16.2", "win-x64-directml") == {
        "core": "--only c-api --c-api-version 0.16.2 --os windows --cpu-arch x64 --tries 3 "
        "--output OUT",
        "additional-libraries": "--only additional-libraries "
        "--additional-libraries-version 0.2.1 --devices directml --os windows --cpu-arch x64 "
        "--tries 3 --output OUT",
        "onnxruntime": "--only onnxruntime --onnxruntime-version voicevox_onnxruntime-1.17.3 "
        "--additional-libraries-version 0.2.1 --devices directml --os windows --cpu-arch x64 "
        "--tries 3 --output OUT",
        "models": "--only models --models-version 0.16.3 --os windows --cpu-arch x64 "
        "--models-pattern [!n]* --tries 3 --output OUT",
    }


def test_bare_versions_are_asked_for_in_0_17() -> None:
    assert calls("0.17.0", "macos-arm64-cpu", "onnxruntime") == {
        "onnxruntime": "--only onnxruntime --onnxruntime-version 1.17.3 --devices cpu --os osx "
        "--cpu-arch arm64 --tries 3 --output OUT"
    }


def test_0_16_0_is_not_told_what_it_does_not_know() -> None:
    assert calls("0.16.0", "linux-x64-cpu", "models") == {
        "models": "--only models --os linux --cpu-arch x64 --output OUT"
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("core", GENERATIONS)
def test_a_downloader_of_that_generation_takes_the_arguments(core: str, target: str) -> None:
    for arguments in calls(core, target).values():
        assert parse(GENERATIONS[core], arguments.split()).output == "OUT"


@pytest.mark.parametrize("core", GENERATIONS)
def test_another_device_is_told_only_where_it_chooses_a_file(core: str) -> None:
    """It makes the program look up the additional libraries, and fail where they have none."""
    for title, arguments in calls(core, "linux-x64-cuda").items():
        if GENERATIONS[core] != "flat":
            assert ("cuda" in arguments) == (title in ("onnxruntime", "additional-libraries"))


def test_another_repository_is_told_where_it_can_be() -> None:
    wanted = request("0.17.0", "linux-x64-cpu", "core", "models")
    parts = {
        name: replace(
            part, repository=f"fork/{name}" if name == "core" else "VOICEVOX/voicevox_vvm"
        )
        for name, part in wanted.parts.items()
    }
    core, models = invocations(find_contract("0.17.0"), replace(wanted, parts=parts))

    assert core.arguments[4:6] == ("--c-api-repo", "fork/core")
    assert "--models-repo" not in models.arguments


def test_what_it_cannot_bring_is_wrong_use() -> None:
    wanted = request("0.15.9", "linux-x64-cuda")
    alone = {"additional-libraries": wanted.parts["additional-libraries"]}

    with pytest.raises(UsageError, match="cannot bring additional-libraries alone"):
        invocations(find_contract("0.15.9"), replace(wanted, parts=alone))
    with pytest.raises(UsageError, match="cannot bring cudnn at all"):
        invocations(find_contract("0.17.0"), replace(wanted, parts={"cudnn": WantedPart("9", {})}))


def test_nothing_wanted_is_nothing_to_run() -> None:
    wanted = replace(request("0.17.0", "linux-x64-cpu"), only=frozenset())

    found: tuple[Invocation, ...] = invocations(find_contract("0.17.0"), wanted)

    assert found == ()
