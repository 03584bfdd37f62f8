from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vvbuild.errors import PythonMissingError
from vvbuild.host import python
from vvbuild.host.python import PythonFacts, find_python, python_identity, query_python

HERE = Path(getattr(sys, "_base_executable", "") or sys.executable)
VERSION = ".".join(map(str, sys.version_info[:3]))


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_tells_what_it_is() -> None:
    facts = query_python(Path(sys.executable))

    assert facts.version == VERSION
    assert facts.series == ".".join(VERSION.split(".")[:2])
    assert facts.executable.is_file()
    assert (facts.stdlib / "os.py").is_file()
    assert facts.shared_library is None or facts.shared_library.is_file()


@pytest.mark.parametrize(
    "body",
    ["exit 1", "echo hello", "echo '{}'", "echo '[]'", "echo null", "true", "kill -9 $$",
     """echo '{"executable": 1}'"""],
)  # fmt: skip
def test_what_is_no_python_is_named(body: str, tmp_path: Path) -> None:
    fake = script(tmp_path / "python", body)

    with pytest.raises(PythonMissingError, match="is not a Python that answers") as caught:
        find_python(">=3", fake)
    assert caught.value.exit_status == 5
    assert str(fake) in caught.value.message
    assert "--python" in caught.value.hint


@pytest.mark.parametrize("kind", ["missing", "folder", "text"])
def test_what_cannot_be_started_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "python"
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("no program")

    with pytest.raises(PythonMissingError, match="is not a Python that answers"):
        find_python(">=3", path)


def test_the_running_python_is_taken_if_it_fits() -> None:
    assert find_python(f"=={VERSION}").version == VERSION


def test_no_python_that_fits_tells_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(PythonMissingError) as caught:
        find_python("==2.7.18")
    assert "needs Python ==2.7.18" in caught.value.message
    assert VERSION in caught.value.message


def test_a_chosen_python_that_does_not_fit_is_not_exchanged() -> None:
    with pytest.raises(PythonMissingError, match=f"found {VERSION}"):
        find_python("==2.7.18", Path(sys.executable))


def test_a_python_of_the_right_series_is_looked_for_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "python3.14", "exit 1")
    script(tmp_path / "python3.13", f'exec {HERE} "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "broken"), raising=False)

    assert find_python(">=3").version == VERSION


def test_the_environment_cannot_bend_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert query_python(HERE).version == VERSION


# Identity


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PythonFacts:
    """A standard library of three files, and nothing of this machine."""
    monkeypatch.setattr(python, "_loaded_by", lambda modules: iter(()))
    monkeypatch.setattr(python, "_host_libraries", lambda names: iter(()))
    return small_python(tmp_path / "one")


def small_python(root: Path) -> PythonFacts:
    stdlib = root / "lib"
    (stdlib / "lib-dynload").mkdir(parents=True)
    (stdlib / "test").mkdir()
    (stdlib / "os.py").write_text("os")
    (stdlib / "lib-dynload/_ssl.so").write_bytes(b"ssl")
    (stdlib / "test/test_os.py").write_text("left out")
    (stdlib / "os.txt").write_text("no code")
    (root / "python").write_bytes(b"python")
    return PythonFacts(root / "python", "3.11.7", "build", stdlib, stdlib / "lib-dynload", None)


def test_equal_pythons_are_equal_wherever_they_lie(facts: PythonFacts, tmp_path: Path) -> None:
    other = small_python(tmp_path / "elsewhere")

    assert python_identity(facts, tmp_path / "a") == python_identity(other, tmp_path / "b")


@pytest.mark.parametrize("name", ["python", "lib/os.py", "lib/lib-dynload/_ssl.so"])
def test_any_byte_that_can_be_frozen_counts(name: str, facts: PythonFacts, tmp_path: Path) -> None:
    before = python_identity(facts, tmp_path / "memory")
    path = facts.executable.parent / name
    path.write_bytes(path.read_bytes() + b"!")

    assert python_identity(facts, tmp_path / "memory") != before


@pytest.mark.parametrize("name", ["lib/test/test_os.py", "lib/os.txt"])
def test_what_is_never_frozen_does_not_count(name: str, facts: PythonFacts, tmp_path: Path) -> None:
    before = python_identity(facts, tmp_path / "a")
    (facts.executable.parent / name).write_text("changed")

    assert python_identity(facts, tmp_path / "b") == before


def test_an_identity_is_remembered(
    facts: PythonFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = python_identity(facts, tmp_path / "memory")
    monkeypatch.setattr(python, "hash_file", lambda path: pytest.fail("read again"))

    assert python_identity(facts, tmp_path / "memory") == first


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"digest": "x", "files": {}}', b"\xff"])
def test_a_damaged_memory_is_written_anew(data: bytes, facts: PythonFacts, tmp_path: Path) -> None:
    first = python_identity(facts, tmp_path / "memory")
    (memory,) = (tmp_path / "memory").iterdir()
    memory.write_bytes(data)

    assert python_identity(facts, tmp_path / "memory") == first


def test_the_identity_of_the_running_python_is_stable(tmp_path: Path) -> None:
    facts = query_python(HERE)

    assert python_identity(facts, tmp_path / "a") == python_identity(facts, tmp_path / "b")
