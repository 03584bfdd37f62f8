"""JSON files, voice models and frozen modules of a bundle."""

from __future__ import annotations

import marshal
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.makers.vvm import vvm_bytes
from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.rules.data import ModelFacts, Style
from vvbuild.verify.data import frozen_modules, read_document, read_model
from vvbuild.verify.expected import parse_expected


def test_a_voice_model_tells_its_format_and_its_characters(tmp_path: Path) -> None:
    path = tmp_path / "0.vvm"
    path.write_bytes(vvm_bytes(format=2, characters={"u": [3, 5]}, kind="sing"))

    assert read_model(path) == ModelFacts(2, {"u": (Style(3, "sing"), Style(5, "sing"))})


def test_a_style_without_a_type_talks(tmp_path: Path) -> None:
    path = tmp_path / "0.vvm"
    metas = b'[{"speaker_uuid": "u", "styles": [{"id": 1}, {"id": "x"}, 3]}, 4, {"styles": []}]'
    path.write_bytes(vvm_bytes(metas_json=metas))

    assert read_model(path).characters == {"u": (Style(1, "talk"),)}


def test_a_model_may_call_its_metas_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "0.vvm"
    manifest = b'{"vvm_format_version": 1, "metas_filename": "m.json"}'
    path.write_bytes(vvm_bytes(manifest_json=manifest, m_json=b"[]", without="metas.json"))

    assert read_model(path) == ModelFacts(1, {})


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_model_is_a_finding_and_no_crash(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(vvm_bytes(characters={"u": [1]}))
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path = tmp_path / "0.vvm"
    path.write_bytes(data[: rng.randint(1, len(data))] if rng.random() < 0.3 else data)

    facts = read_model(path)
    assert (facts.problem is None) == (facts.format is not None)


def test_a_document_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/dev/zero")

    assert read_document(tmp_path / "x").problem == "is not a file"
    assert read_document(tmp_path / "y").problem == "is missing"


# Frozen modules


def program(path: Path, names: list[str], before: int = 0) -> Path:
    """A file with the list of modules as PyInstaller's archive has it."""
    table = [(name, (0, 17, 42)) for name in names]
    path.write_bytes(b"\0" * before + marshal.dumps(table) + b"\0" * 99)
    return path


def test_modules_are_found_by_their_whole_names(tmp_path: Path) -> None:
    names = ["soundfile", "a", "pyopenjtalk_plus", "xsnfa", "unidic.x"]
    path = program(tmp_path / "run", names)

    asked = {"soundfile", "pyopenjtalk", "snfa", "unidic", "a"}
    assert frozen_modules(path, asked) == {"soundfile", "a"}
    assert frozen_modules(path, set()) == frozenset()


@pytest.mark.parametrize("before", [(1 << 20) - 20, (1 << 20) - 12, (1 << 20) - 1, 1 << 20])
def test_a_name_across_two_chunks_is_found(tmp_path: Path, before: int) -> None:
    path = program(tmp_path / "run", ["soundfile"], before)

    assert frozen_modules(path, {"soundfile"}) == {"soundfile"}


# --expect


def test_expectations_are_read() -> None:
    texts = ["engine=0.25.2", "onnxruntime=1.23.2", "engine=0.25.2"]

    assert parse_expected(texts) == {"engine": "0.25.2", "onnxruntime": "1.23.2"}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["engine"], "Expected component=version, got 'engine'"),
        (["engine=latest"], "Expected a version such as"),
        (["engine="], "Expected a version such as"),
        (["engine=1.0", "engine=2.0"], "Two versions of engine"),
    ],
)
def test_what_cannot_be_expected_is_said(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_expected(texts)


def test_an_unknown_component_is_said_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="onnxruntime"):
        parse_expected(["onnxruntim=1.0"])
