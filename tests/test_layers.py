"""The house rules of the code, held by reading it: who may import whom, and who may print."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import vvbuild

PACKAGE = Path(vvbuild.__file__).parent
LONGEST = 420

# Who stands on whom: a package may import its own rank and all below it.
RANKS: dict[str, int] = {
    "": 0,  # vvbuild/__init__.py, the version
    "errors": 0,
    "model": 0,
    "runtime": 1,
    "resources": 2,
    "fetch": 2,
    "binary": 2,
    "manifest": 2,
    "ort": 2,
    "linking": 3,
    "rules": 3,
    "check": 4,
    "explain": 4,
    "compare": 4,
    "pipeline": 4,
    "host": 4,
    "verify": 4,
    "bootloader": 4,
    "bundle": 4,
    "smoke": 4,
    "locking": 4,
    "inspect": 4,
    "mirror": 4,
    "outdated": 4,
    "report": 5,
    "cli": 6,
    "__main__": 7,
}
# Programs of their own, which a bundle carries: they import vvbuild.ort and nothing else.
APART = "sample_engine"


@cache
def sources() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def part_of(path: Path) -> str:
    """``fetch`` of ``vvbuild/fetch/store.py``, ``errors`` of ``vvbuild/errors.py``."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file names in an import, wherever in it the import stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or path.is_relative_to(PACKAGE / APART), (
                f"{path}:{node.lineno}: relative import"
            )
            if node.module == "vvbuild":
                for alias in node.names:
                    yield node.lineno, f"vvbuild.{alias.name}"
            elif node.module:
                yield node.lineno, node.module


def own_imports() -> Iterator[tuple[Path, int, str, str]]:
    """File, line, its part, and the part of vvbuild that it imports."""
    for path in sources():
        for line, module in imported(path):
            head, _, rest = module.partition(".")
            if head == "vvbuild":
                wanted = rest.split(".")[0]
                known = wanted in RANKS or wanted == APART
                yield path, line, part_of(path), wanted if known else ""


def test_every_part_of_the_package_has_a_rank() -> None:
    parts = {part_of(path) for path in sources()}

    assert parts - {APART} <= set(RANKS)


def test_nothing_imports_upward() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line}: {part} imports {wanted}"
        for path, line, part, wanted in own_imports()
        if part != APART and RANKS[wanted] > RANKS[part]
    ]

    assert wrong == []


def test_only_the_command_line_knows_reports() -> None:
    users = {part for _, _, part, wanted in own_imports() if wanted == "report"}

    assert users == {"report", "cli"}


def test_nobody_imports_the_command_line() -> None:
    users = {part for _, _, part, wanted in own_imports() if wanted == "cli"}

    assert users == {"cli", "__main__"}


def test_model_and_errors_know_only_each_other() -> None:
    wanted = {each for _, _, part, each in own_imports() if part in ("model", "errors")}

    assert wanted <= {"model", "errors"}


def test_fetch_and_manifest_do_not_know_each_other() -> None:
    pairs = {(part, wanted) for _, _, part, wanted in own_imports()}

    assert ("fetch", "manifest") not in pairs
    assert ("manifest", "fetch") not in pairs


def test_the_binding_of_onnx_runtime_needs_only_the_standard_library() -> None:
    wrong = [
        f"{path.name}:{line}: {module}"
        for path in sources()
        if part_of(path) == "ort"
        for line, module in imported(path)
        if not module.startswith("vvbuild.ort")
        and module.split(".")[0] not in sys.stdlib_module_names
    ]

    assert wrong == []


def test_the_sample_engine_knows_nothing_of_vvbuild_but_the_binding() -> None:
    wanted = {each for _, _, part, each in own_imports() if part == APART}

    assert wanted <= {"ort"}


DOERS = {
    "os", "io", "pathlib", "shutil", "subprocess", "socket", "tempfile", "httpx", "urllib",
    "glob", "threading", "time", "random", "platform",
}  # fmt: skip


def test_rules_do_no_io() -> None:
    wrong = [
        f"{path.name}:{line}: {module}"
        for path in sources()
        if part_of(path) == "rules"
        for line, module in imported(path)
        if module.split(".")[0] in DOERS
        or module.startswith(("vvbuild.fetch", "vvbuild.runtime", "vvbuild.resources"))
    ]

    assert wrong == []


def test_rules_open_nothing() -> None:
    wrong = [
        f"{path.name}:{node.lineno}"
        for path in sources()
        if part_of(path) == "rules"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open", "print", "input", "exec", "eval")
    ]

    assert wrong == []


def test_models_do_no_io() -> None:
    wrong = [
        f"{path.name}:{line}: {module}"
        for path in sources()
        if part_of(path) == "model"
        for line, module in imported(path)
        if module.split(".")[0] in DOERS - {"urllib"}
    ]

    assert wrong == []


def _writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "print"
    target = node.func.value if isinstance(node.func, ast.Attribute) else None
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "sys"
        and target.attr in ("stdout", "stderr")
    )


def test_the_core_never_prints() -> None:
    # The sample engine is a program, and waf_cc is one that waf starts.
    programs = {APART, "report", "cli"}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sources()
        if part_of(path) not in programs
        for node in ast.walk(tree_of(path))
        if _writes(node)
    ]

    assert wrong == []


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_is_short_enough_to_be_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_help_and_listings_start_without_heavy_modules() -> None:
    """What `vvbuild --help` pays for: nothing of the network, of ONNX or of rich."""
    script = (
        "import sys, vvbuild.cli.main\n"
        "heavy = {'httpx', 'rich.console', 'elftools', 'onnx', 'numpy', 'truststore',"
        " 'deflate', 'vvbuild.bundle.run', 'vvbuild.fetch.store'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip

    assert done.stdout.strip() == "[]"
