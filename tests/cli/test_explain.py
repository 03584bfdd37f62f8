"""`vvbuild explain`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.conftest import Said

Say = Callable[..., Said]


def test_a_version_for_programs(say: Say) -> None:
    document = say("explain", "onnxruntime", "1.17.3", "--json").document

    assert document["command"] == "explain"
    assert (document["kind"], document["name"]) == ("component", "onnxruntime")
    assert document["version"] == "1.17.3"
    assert document["also"] == []
    assert {"fact", "value", "source"} <= set(document["facts"][0])
    assert {"component", "what", "source", "verdict"} <= set(document["needs"][0])
    assert {"component", "what", "source", "verdict"} <= set(document["needed_by"][0])
    assert {"release", "text", "targets", "path"} <= set(document["releases"][0])


def test_a_name_of_two_things_is_one_document(say: Say) -> None:
    document = say("explain", "manifest-invalid", "--json").document

    assert document["kind"] == "rule"
    assert [each["kind"] for each in document["also"]] == ["error"]


def test_without_a_name_everything_is_listed(say: Say) -> None:
    said = say("explain")
    names = {each["name"] for each in say("explain", "--json").document["topics"]}

    assert said.status == 0
    assert {"cuda-major", "lock-invalid", "onnxruntime"} <= names
    assert all(name in said.out for name in names)


def test_a_version_that_no_table_knows_is_no_failure(say: Say) -> None:
    said = say("explain", "core", "0.99.0")

    assert said.status == 0
    assert "No table knows core 0.99.0; the nearest that are known are >=0.17,<0.18." in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cuda-majr"], "cuda-major"),
        (["core", "latest"], "'latest'"),
        (["cuda-major", "12"], "Only components have versions"),
        (["onnxruntime", "pipy:1.27.0"], "pypi"),
    ],
)
def test_what_cannot_be_explained_is_wrong_use(words: list[str], message: str, say: Say) -> None:
    said = say("explain", *words)

    assert said.status == 2
    assert said.out == ""
    assert message in said.err
