from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild import resources
from vvbuild.pipeline import code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the place of vvbuild, whose files a test may change."""
    root = tmp_path / "vvbuild"
    for name, text in {
        "__init__.py": '__version__ = "1"\n',
        "errors.py": "class E(Exception): ...\n",
        "work.py": "from vvbuild.errors import E\nfrom vvbuild.tools import (\n"
        "    hammer,  # one\n    saw as blade,\n)\n\n\ndef late():\n    import vvbuild.late\n",
        "tools/__init__.py": "",
        "tools/hammer.py": "from vvbuild import __version__\n",
        "tools/saw.py": "from vvbuild.tools.deep import tooth\n",
        "tools/deep.py": "tooth = 1\n",
        "late.py": "x = 1\n",
        "unrelated.py": "x = 1\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(resources, "package_dir", lambda: root)
    forget()
    yield root
    forget()


def forget() -> None:
    for cached in (code._imports, code._source_digest, code._source):
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def digest() -> str:
    forget()
    return code.code_digest(("vvbuild.work",))


@pytest.mark.parametrize(
    "name",
    ["work.py", "tools/hammer.py", "tools/saw.py", "tools/deep.py", "late.py", "__init__.py"],
)
def test_a_change_of_what_does_the_work_counts(name: str, package: Path) -> None:
    before = digest()
    with (package / name).open("a") as stream:
        stream.write("# changed\n")

    assert digest() != before


@pytest.mark.parametrize("name", ["unrelated.py", "errors.py"])
def test_a_change_of_anything_else_does_not(name: str, package: Path) -> None:
    before = digest()
    with (package / name).open("a") as stream:
        stream.write("# changed\n")

    assert digest() == before


def test_line_ends_do_not_count(package: Path) -> None:
    before = digest()
    path = package / "work.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert digest() == before


def test_a_module_that_is_not_there_is_a_mistake(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError):
        code.code_digest(("vvbuild.wrok",))


def test_the_order_of_modules_does_not_count() -> None:
    modules = ("vvbuild.fetch.unpack", "vvbuild.bundle.assemble")

    assert code.code_digest(modules) == code.code_digest(modules[::-1])
