"""A bundle against what vvbuild.json says of it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.rules.bundle.good import GOOD, SHA, bundle, elf, file, found, link, only
from vvbuild.rules.evidence import FileFacts, JsonFile
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
        (link("x", "run"), link("x", "model"), "differs"),
        (link("x", "run"), file("x"), "differs"),
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
