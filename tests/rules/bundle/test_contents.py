"""A bundle against what vvbuild.json says of it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.rules.bundle.good import GOOD, SHA, bundle, described, elf, file, found, link, only
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile
from vvbuild.rules.registry import judge


def test_a_bundle_that_says_nothing_of_itself_is_a_warning() -> None:
    evidence = dataclasses.replace(bundle(), description=JsonFile())

    finding = only(evidence, "description-missing")
    assert (finding.severity, finding.message) == ("warning", "is missing")


def test_b119_a_file_of_the_same_size_with_other_bytes_is_stopped() -> None:
    promised = [*GOOD[:-1], file("model/0.vvm", sha256=SHA["b"])]

    finding = only(bundle(promised=promised), "content-differs")
    assert finding.path == "model/0.vvm"


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        (file("x", kind="program"), file("x"), "was a file, is a program"),
        (link("x", "run"), link("x", "model"), "was built as a link to 'model'"),
        (link("x", "run"), file("x"), "was a file, is a link"),
        (file("x"), link("x", "run"), "was a link, is a file"),
        (file("x"), FileFacts("x", "directory"), "differs"),
        (FileFacts("x", "directory"), file("x"), "differs"),
    ],
)
def test_a_file_that_became_another_kind_is_stopped(
    now: FileFacts, then: FileFacts, words: str
) -> None:
    finding = only(bundle(now, promised=[*GOOD, then]), "content-differs")

    assert words in finding.message


def test_b019_a_file_that_was_built_and_is_gone_is_stopped() -> None:
    promised = [*GOOD, file("cudnn_adv_infer64_8.dll")]

    finding = only(bundle(promised=promised), "file-missing")
    assert finding.path == "cudnn_adv_infer64_8.dll"


def test_b028_a_file_that_was_not_built_is_stopped() -> None:
    finding = only(bundle(file("libcudart.so.11", binary=elf()), promised=GOOD), "file-extra")

    assert finding.path == "libcudart.so.11"


def test_b019_many_lost_files_are_one_finding() -> None:
    promised = [*GOOD, file("a.dll"), file("b.dll")]

    finding = only(bundle(promised=promised), "file-missing")
    assert finding.message == "2 files are missing"
    assert finding.evidence == {"files": "a.dll, b.dll"}


@pytest.mark.parametrize(
    "path",
    ["lib/cmake/onnxruntime/onnxruntimeTargets.cmake", "lib/pkgconfig/x.pc", "onnxruntime.lib",
     "include/onnxruntime_c_api.h", "x.dSYM/Contents/Info.plist", "onnxruntime.pdb",
     "libonnxruntime_providers_shared.so", "voicevox_onnxruntime_providers_cuda.dll",
     "libonnxruntime.so.dbg"],
)  # fmt: skip
def test_b028_b020_what_a_cpu_bundle_does_not_need_is_stopped(path: str) -> None:
    library = elf() if path.endswith(".so") else None
    evidence = bundle(file(path, binary=library))

    assert ("unneeded-file", path) in found(evidence)
    assert [each.severity for each in judge(evidence) if each.rule == "unneeded-file"] == ["error"]


def test_b028_files_of_one_kind_are_one_finding() -> None:
    finding = only(bundle(file("a.pdb"), file("b/c.pdb")), "unneeded-file")

    assert finding.message == "2 files are not needed: symbols for a debugger"


def test_packages_of_python_may_carry_headers() -> None:
    base = file("engine_internal/base_library.zip")

    assert found(bundle(base, file("engine_internal/numpy/core/include/x.h"))) == []
    only(bundle(base, file("include/x.h")), "unneeded-file")


@pytest.mark.parametrize("path", [".DS_Store", "x/Thumbs.db", "__MACOSX/._run", "a.png_large"])
def test_what_file_managers_leave_is_told(path: str) -> None:
    assert only(bundle(file(path)), "unneeded-file").severity == "warning"


# Where files come from


def from_somewhere(origins: dict[str, str | None], **description: object) -> BundleEvidence:
    """A bundle whose files are all frozen, but for those of ``origins``."""
    rows = described([*GOOD, *(file(path) for path in origins)])
    for path, row in rows.items():
        origin = origins.get(path, "frozen")
        if origin is not None:
            row["origin"] = origin
    artifacts = [{"name": "ort.whl", "component": "onnxruntime"}]
    return bundle(*map(file, origins), files=rows,
                  **{"artifacts": artifacts, **description})  # fmt: skip


@pytest.mark.parametrize("origin", ["frozen", "host", "engine", "licences", "onnxruntime"])
def test_b078_a_file_from_a_locked_artifact_or_the_environment_passes(origin: str) -> None:
    assert found(from_somewhere({"x": origin})) == []


def test_b078_files_from_nowhere_are_one_finding() -> None:
    finding = only(from_somewhere({"x": None, "y": "cuda"}), "unknown-origin")

    assert finding.severity == "error"
    assert finding.evidence == {"files": "x, y"}


def test_a_file_from_an_artifact_that_the_lock_does_not_hold_is_told() -> None:
    overrides = {"unlocked": {"ort.whl": {"sha256": "0"}}}

    finding = only(from_somewhere({"x": "onnxruntime"}, overrides=overrides), "unknown-origin")
    assert finding.severity == "warning"


def test_a_description_without_origins_says_nothing_of_them() -> None:
    assert found(bundle(file("x"))) == []


def test_b041_a_link_that_became_a_copy_is_stopped() -> None:
    promised = [*GOOD, link("libpython3.so", "run")]

    finding = only(
        bundle(file("libpython3.so", binary=elf()), promised=promised), "content-differs"
    )
    assert finding.message == "was a link, is a file"


def test_an_empty_folder_that_was_built_is_neither_missing_nor_extra() -> None:
    assert found(bundle(FileFacts("empty", "directory"))) == []
    assert found(bundle(FileFacts("empty", "directory"), promised=GOOD)) == []
    assert found(bundle(promised=[*GOOD, FileFacts("empty", "directory")])) == [
        ("file-missing", "empty")
    ]


def test_vvbuild_json_need_not_list_itself() -> None:
    assert found(bundle(file("vvbuild.json"), promised=GOOD)) == []


# Hostile descriptions


@pytest.mark.parametrize(
    "description",
    [
        {"files": None}, {"files": []}, {"files": {"run": 1}}, {"files": {"run": {}}},
        {"files": {"run": {"sha256": ["x"], "kind": {}}}}, {"engine": []},
        {"engine": {"version": []}},
        {"components": {"onnxruntime": {}}}, {"bootloader": {"text_sha256": {"a": 1}}},
        {"bootloader": "x"}, {"components": 3},
    ],
    ids=str,
)  # fmt: skip
def test_a_description_of_any_shape_is_judged(description: dict[str, object]) -> None:
    for finding in judge(bundle(**description)):
        json.dumps(dataclasses.asdict(finding))
