import base64
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import helper

import vvbuild
from vvbuild.ort import DEFAULT_API_VERSION, Library, LibraryError
from vvbuild.ort._table import SLOTS


def test_the_library_tells_its_version_and_is_spoken_to_in_an_old_api(library, ort_path):
    assert library.version == "1.23.2"
    assert library.api_version == DEFAULT_API_VERSION
    assert library.path == ort_path


def test_what_was_built_in_can_be_asked(library):
    assert library.available_providers()[-1] == "CPUExecutionProvider"
    assert "build type=Release" in library.build_info()


@pytest.mark.parametrize("api", [14, 23])
def test_every_slot_can_be_bound_in_the_api_that_has_it(ort_path, api):
    library = Library(ort_path, api)
    for name, slot in SLOTS.items():
        if slot.since <= api:
            assert library._bind(name)


def test_a_slot_that_the_api_in_use_lacks_is_refused(ort_path):
    with pytest.raises(LibraryError, match="GetBuildInfoString needs API 15"):
        Library(ort_path, 14).build_info()


def test_slots_have_one_index_each():
    assert len({slot.index for slot in SLOTS.values()}) == len(SLOTS)


def test_an_api_newer_than_the_library_is_refused(ort_path):
    with pytest.raises(LibraryError, match=r"ONNX Runtime 1\.23\.2, which has no API 24"):
        Library(ort_path, 24)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LibraryError, match=r"no ONNX Runtime library at .*absent"):
        Library(tmp_path / "absent.so")


def test_a_relative_path_is_refused_so_that_no_search_path_has_a_say(ort_path, monkeypatch):
    monkeypatch.chdir(ort_path.parent)
    with pytest.raises(LibraryError, match="absolute"):
        Library(ort_path.name)


@pytest.mark.parametrize("content", [b"", b"certainly not a shared library\n" * 100])
def test_a_file_that_is_no_library_is_refused(tmp_path, content):
    path = tmp_path / "libonnxruntime.so"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match=r"Could not load .*libonnxruntime\.so"):
        Library(path)


def test_a_library_of_another_kind_is_refused(provider_bridge):
    with pytest.raises(LibraryError, match="not ONNX Runtime: it has no OrtGetApiBase"):
        Library(provider_bridge)


PROGRAM = """
import base64, sys
sys.path.insert(0, sys.argv[1])
from vvbuild.ort import DType, Environment, Library, RunOptions, Session, Tensor
library = Library(sys.argv[2])
with Environment(library) as environment:
    with Session(environment, base64.b64decode(sys.argv[3])) as session:
        print(session.run({"x": Tensor.of(DType.FLOAT32, [21])})["y"].values.tolist())
foreign = sorted(n for n in sys.modules if n.split(".")[0] == "vvbuild" and ".ort" not in n)
print(foreign)
"""


def test_the_binding_needs_nothing_but_the_standard_library(tmp_path, ort_path):
    package = Path(vvbuild.__file__).parent
    (tmp_path / "vvbuild").mkdir()
    shutil.copy(package / "__init__.py", tmp_path / "vvbuild")
    shutil.copytree(package / "ort", tmp_path / "vvbuild" / "ort")
    value = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "g", value[:1], value[1:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    text = base64.b64encode(model.SerializeToString()).decode()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, tmp_path, ort_path, text],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[42.0]", "['vvbuild']"]
