"""A release small enough to be broken in every way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vvbuild.errors import ManifestError
from vvbuild.manifest.release import load_release
from vvbuild.manifest.tools import tool_table

TINY = """\
schema = "vvbuild.release/1"
name = "tiny"
summary = "A release to break"
targets = ["linux-x64-cpu", "win-x64-cpu"]

[engine]
version = "0.1.0"
source = "package"
recipe = "sample"
time = 2026-11-30T00:00:00Z
[engine.files]
"." = "sample_engine"

[python]
requires = ">=3.10"

[archives]
stem = "tiny-{target}-{version}"

[tools]
TOOLS

[components.onnxruntime]
version = "1.23.2"
source = "pypi"
flavour = "pypi"

[[artifacts]]
component = "onnxruntime"
targets = ["linux-*"]
references = ["pypi:onnxruntime/{version}/linux-{version}.whl"]

[[artifacts]]
component = "onnxruntime"
targets = ["win-x64-cpu"]
references = ["pypi:onnxruntime/{version}/win.whl", "https://host.example/win.whl"]
max_size = "20MiB"
"""


@pytest.fixture(scope="session")
def tiny() -> str:
    """The text of a good manifest called ``tiny.toml``."""
    rows = (f'{name} = "{next(iter(versions))}"' for name, versions in tool_table().tools.items())
    return TINY.replace("TOOLS", "\n".join(rows))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a manifest and tell where."""

    def write(text: str | bytes) -> Path:
        path = tmp_path / "tiny.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture
def refusal(write: Callable[[str | bytes], Path]) -> Callable[..., ManifestError]:
    """The error of a manifest that must not load; it is about the format, status 2."""

    def refusal(text: str | bytes, **options: bool) -> ManifestError:
        with pytest.raises(ManifestError) as caught:
            load_release(write(text), **options)
        assert caught.value.exit_status == 2
        return caught.value

    return refusal


def line_of(text: str, fragment: str) -> int:
    """The line, counted from 1, of the first line that holds ``fragment``."""
    return next(n for n, line in enumerate(text.splitlines(), 1) if fragment in line)


def edited(text: str, old: str, new: str) -> str:
    """Replace once what must be there."""
    assert old in text
    return text.replace(old, new, 1)
