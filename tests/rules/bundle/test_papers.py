"""The licences of what is in a bundle."""

from __future__ import annotations

import pytest

from tests.rules.bundle.good import bundle, elf, file, found, only
from vvbuild.rules.data import Document
from vvbuild.rules.evidence import BundleEvidence, FileFacts

TEXT = "Permission is hereby granted, free of charge, to any person obtaining a copy. " * 3


def licensed(*files: FileFacts, rows: object = None, **names: str) -> BundleEvidence:
    """A bundle whose list of licences has ONNX Runtime, and ``names`` with their texts."""
    known = [{"name": name, "text": text} for name, text in names.items()]
    value = [{"name": "ONNX Runtime", "text": TEXT}, *known] if rows is None else rows
    return bundle(*files, seen={"documents": {"licenses.json": Document(value)}})


@pytest.mark.parametrize(
    ("names", "of", "licence"),
    [
        (["libcublas.so.12", "libcublasLt.so.12", "libcudart.so.12"], "CUDA", "CUDA Toolkit"),
        (["libcudnn_cnn.so.9", "libcudnn_ops.so.9"], "cuDNN", "cuDNN"),
    ],
)
def test_b095_nvidias_libraries_without_their_licence_are_one_finding(
    names: list[str], of: str, licence: str
) -> None:
    files = [file(name, binary=elf(soname=name)) for name in names]

    finding = only(licensed(*files), "licence-missing")

    assert finding.message == f"{len(names)} libraries are {of}'s, whose licence is missing"
    assert found(licensed(*files, **{licence: TEXT})) == []
    paper = file(f"licenses/{of.lower()}/License.txt")
    assert found(licensed(*files, paper)) == []


def test_b095_an_empty_paper_is_none() -> None:
    library = file("libcudnn.so.9", binary=elf(soname="libcudnn.so.9"))
    paper = file("licenses/cudnn/License.txt", size=0)

    assert ("licence-missing", "libcudnn.so.9") in found(licensed(library, paper))


def test_b096_a_library_inside_a_package_needs_its_licence() -> None:
    library = file("_soundfile_data/libsndfile_x64.so", binary=elf())

    finding = only(licensed(library), "licence-missing")

    assert finding.path == library.path
    assert found(licensed(library, **{"libsndfile-binaries": TEXT})) == []


@pytest.mark.parametrize("text", ["UNKNOWN", "", "  \n"])
def test_b098_a_licence_that_nobody_knows_is_stopped(text: str) -> None:
    finding = only(licensed(core=text), "licence-missing")

    assert finding.message == "the licence of core has no text"
    assert finding.path == "licenses.json"


@pytest.mark.parametrize("page", ["<!DOCTYPE html><html>", "\n<html lang=en>", "<?xml version="])
def test_b099_a_web_page_is_no_licence(page: str) -> None:
    finding = only(licensed(mpg123=page + TEXT), "licence-missing")

    assert finding.message == "the licence of mpg123 has a web page instead of its text"
    assert found(licensed(mpg123=TEXT)) == []


def test_b099_a_short_text_is_told() -> None:
    assert only(licensed(x="see our page"), "licence-missing").severity == "warning"


@pytest.mark.parametrize(
    "rows", [3, "x", {}, [None], [{"name": 3, "text": 4}], [{"text": TEXT}], []], ids=str
)
def test_a_list_of_any_shape_is_judged(rows: object) -> None:
    assert {rule for rule, _ in found(licensed(rows=rows))} <= {
        "licence-missing", "manifest-invalid",
    }  # fmt: skip
