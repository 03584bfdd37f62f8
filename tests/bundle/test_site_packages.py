from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from tests.workshop import snapshot
from vvbuild.bundle.site_packages import (
    contested_files,
    environment_packages,
    normalise_site_packages,
)

_RECORD = """\
zeta/__init__.py,sha256=aaa,3
"alpha, with comma.py",sha256=bbb,3
../../../bin/zeta,sha256=ccc,300
../../../share/man/man1/zeta.1,sha256=ddd,30
/home/someone/bin/zeta,sha256=ccc,300
zeta/../../outside.py,sha256=eee,1
zeta/__pycache__/__init__.cpython-311.pyc,,
Zeta_Package-1.0.dist-info/INSTALLER,sha256=fff,2
Zeta_Package-1.0.dist-info/REQUESTED,sha256=ggg,0
Zeta_Package-1.0.dist-info/direct_url.json,sha256=hhh,99
Zeta_Package-1.0.dist-info/METADATA,sha256=iii,40
Zeta_Package-1.0.dist-info/RECORD,,
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    root = tmp_path / "lib" / "python3.11" / "site-packages"
    info = root / "Zeta_Package-1.0.dist-info"
    (root / "zeta" / "__pycache__").mkdir(parents=True)
    info.mkdir()
    (root.parent / "outside.py").write_text("x")
    for name, text in {
        "zeta/__init__.py": "abc",
        "zeta/__pycache__/__init__.cpython-311.pyc": "compiled",
        "alpha, with comma.py": "abc",
        f"{info.name}/INSTALLER": "uv",
        f"{info.name}/REQUESTED": "",
        f"{info.name}/direct_url.json": '{"url": "file:///home/someone"}',
        f"{info.name}/uv_cache.json": '{"timestamp": 1}',
        f"{info.name}/METADATA": "Metadata-Version: 2.1\nName: Zeta_Package\nVersion: 1.0\n",
        f"{info.name}/RECORD": _RECORD,
    }.items():
        (root / name).write_text(text)
    return root


def _record(root: Path) -> list[list[str]]:
    with (root / "Zeta_Package-1.0.dist-info" / "RECORD").open(newline="") as stream:
        return list(csv.reader(stream))


def test_a_record_names_only_what_is_in_site_packages(installed: Path) -> None:
    normalise_site_packages(installed)
    assert [row[0] for row in _record(installed)] == [
        "Zeta_Package-1.0.dist-info/METADATA",
        "Zeta_Package-1.0.dist-info/RECORD",
        "alpha, with comma.py",
        "zeta/__init__.py",
    ]


def test_digests_and_sizes_of_a_record_are_kept(installed: Path) -> None:
    normalise_site_packages(installed)
    assert _record(installed)[2:] == [
        ["alpha, with comma.py", "sha256=bbb", "3"],
        ["zeta/__init__.py", "sha256=aaa", "3"],
    ]


def test_what_depends_on_the_installation_is_gone(installed: Path) -> None:
    normalise_site_packages(installed)
    assert sorted(snapshot(installed)) == [
        "Zeta_Package-1.0.dist-info",
        "Zeta_Package-1.0.dist-info/METADATA",
        "Zeta_Package-1.0.dist-info/RECORD",
        "alpha, with comma.py",
        "zeta",
        "zeta/__init__.py",
    ]


def test_a_normal_form_does_not_change_again(installed: Path) -> None:
    normalise_site_packages(installed)
    once = snapshot(installed)
    normalise_site_packages(installed)
    assert snapshot(installed) == once


def test_the_order_of_a_record_does_not_matter(installed: Path) -> None:
    record = installed / "Zeta_Package-1.0.dist-info" / "RECORD"
    normalise_site_packages(installed)
    expected = record.read_bytes()
    record.write_text("".join(sorted(_RECORD.splitlines(keepends=True), reverse=True)))
    normalise_site_packages(installed)
    assert record.read_bytes() == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_modes_are_those_of_programs_and_files(installed: Path) -> None:
    (installed / "zeta" / "tool").write_text("#!")
    (installed / "zeta" / "tool").chmod(0o700)
    (installed / "zeta" / "__init__.py").chmod(0o600)
    (installed / "zeta").chmod(0o700)
    normalise_site_packages(installed)
    modes = {name: mode for name, (mode, _) in snapshot(installed).items()}
    assert modes["zeta"] == modes["zeta/tool"] == 0o755
    assert modes["zeta/__init__.py"] == 0o644


def test_packages_are_named_as_indexes_name_them(installed: Path) -> None:
    other = installed / "alpha-2.0+local.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: alpha\nVersion: 2.0+local\n")
    assert environment_packages(installed) == (("alpha", "2.0+local"), ("zeta-package", "1.0"))


def test_a_file_of_two_packages_is_contested_only_if_they_differ(installed: Path) -> None:
    other = installed / "alpha-2.0.dist-info"
    other.mkdir()
    (other / "RECORD").write_text(
        'zeta/__init__.py,sha256=other,3\n"alpha, with comma.py",sha256=bbb,3\n'
    )
    assert contested_files(installed) == {
        "zeta/__init__.py": ("Zeta_Package-1.0", "alpha-2.0"),
    }
