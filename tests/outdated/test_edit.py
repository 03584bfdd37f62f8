"""Editing a pin changes the pin and nothing else, in any manifest that loads."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.manifest.conftest import edited
from vvbuild import resources
from vvbuild.errors import ManifestError, PermissionDeniedError
from vvbuild.manifest.decode import Document
from vvbuild.manifest.release import find_release, load_release, release_names
from vvbuild.model.release import COMPONENTS
from vvbuild.outdated.edit import edit_pins, edited_release, says, unified, write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFESTS = sorted((resources.manifests_dir() / "releases").glob("*.toml"))
VERSION = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}(-[a-z]{1,8}\.[0-9])?", fullmatch=True)
PIN = "version = "
PINS = st.dictionaries(
    st.sampled_from([name for name in COMPONENTS if name not in ("engine", "python")]),
    VERSION,
    min_size=1,
    max_size=4,
)


def edit(text: str, pins: dict[str, str]) -> str:
    return edit_pins(Document(Path("a.toml"), text, tomllib.loads(text)), text, pins)


def lines(text: str) -> list[str]:
    return text.split("\n")


@settings(suppress_health_check=[HealthCheck.differing_executors])
@given(manifest=st.sampled_from(MANIFESTS), pins=PINS, crlf=st.booleans(), cut=st.booleans())
def test_every_other_line_of_every_manifest_stays(
    manifest: Path, pins: dict[str, str], crlf: bool, cut: bool
) -> None:
    before = manifest.read_text(encoding="utf-8")
    before = before.rstrip("\n") if cut else before
    before = before.replace("\n", "\r\n") if crlf else before

    after = edit(before, pins)

    old, kept = lines(before), 0
    for line in (each.rstrip("\r") for each in lines(after)):
        there = old[kept].rstrip("\r") if kept < len(old) else None
        if line == there or (there and line.startswith(PIN) and there.startswith(PIN)):
            kept += 1
        else:
            assert line == "" or line.startswith((PIN, "[components."))
    assert kept == len(old)
    data = tomllib.loads(after)["components"]
    assert {name: data[name]["version"] for name in pins} == pins
    if crlf:
        assert after.count("\n") == after.count("\r\n")
    else:
        assert "\r" not in after


@settings(suppress_health_check=[HealthCheck.differing_executors])
@given(manifest=st.sampled_from(MANIFESTS), version=VERSION)
def test_a_pin_that_stands_there_changes_in_its_own_line_only(manifest: Path, version: str) -> None:
    before = manifest.read_text(encoding="utf-8")
    for component in COMPONENTS:
        if not says(before, component):
            continue
        after = edit(before, {component: version})
        pairs = list(zip(lines(before), lines(after), strict=True))
        changed = [(old, new) for old, new in pairs if old != new]
        assert len(changed) <= 1
        for old, new in changed:
            assert old.split('"')[0] == new.split('"')[0] == "version = "
            assert old.split('"')[2] == new.split('"')[2]


def test_a_comment_behind_a_pin_and_its_kind_of_quotes_stay(text: str) -> None:
    after = edit(text, {"onnxruntime": "1.24.0", "pyinstaller": "6.22.3"})

    assert 'version = "1.24.0"              # the last with macOS on x64\n' in after
    assert "version = '6.22.3'\n" in after


MODELS = '[components.models]\nversion = "9"\n'
CORE = '[components.core]\nversion = "2"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[components]\ncore = { version = "1", note = "1" } # "1"\n',
         '[components]\ncore = { version = "2", note = "1" } # "1"\n'),
        ("[components]\ncore = { note = '1', version = '1' }\n",
         "[components]\ncore = { note = '1', version = '2' }\n"),
        ('components.core.version = "1" # a\n', 'components.core.version = "2" # a\n'),
        ('[components]\ncore.version = "1"\n', '[components]\ncore.version = "2"\n'),
        ('["components".\'core\']\n"version"="1"#a\n',
         '["components".\'core\']\n"version"="2"#a\n'),
        ('[components.core]\nversion  =  """1"""\n', '[components.core]\nversion  =  "2"\n'),
        ("[components.core]\nversion = \'\'\'1\'\'\'\n", "[components.core]\nversion = '2'\n"),
        ('[components.core]\nversion = "1\\"\\u0031" # q\n',
         '[components.core]\nversion = "2" # q\n'),
        # Tables of one kind that do not stand together.
        (MODELS + '[[a]]\nb = 1\n# c\n[components.core]\nversion = "1"\n',
         MODELS + "[[a]]\nb = 1\n# c\n" + CORE),
        # A table without the pin gets it behind its header.
        ('[components.core] # mine\nnote = "x"\n',
         '[components.core] # mine\nversion = "2"\nnote = "x"\n'),
        ("[components.core]", CORE),
        ('[components]\ncore = { note = "x" }\n',
         '[components]\ncore = { version = "2", note = "x" }\n'),
        ('[components]\ncore.note = "x"\n', '[components]\ncore.version = "2"\ncore.note = "x"\n'),
        # No table: behind the last component, before the comment of what follows.
        (MODELS + 'note = """\n[x]\n# y\n"""\n\n# about w\n[[w]]\na = 1\n',
         MODELS + 'note = """\n[x]\n# y\n"""\n\n' + CORE + "\n# about w\n[[w]]\na = 1\n"),
        (MODELS + "[[w]]\na = 1\n", MODELS + "\n" + CORE + "\n[[w]]\na = 1\n"),
        # No component at all: behind the last plain table.
        ('name = "x"\n\n[engine]\na = 1\n\n[[w]]\na = 1\n',
         'name = "x"\n\n[engine]\na = 1\n\n' + CORE + "\n[[w]]\na = 1\n"),
        ('name = "x"', 'name = "x"\n\n' + CORE),
        ("", CORE),
    ],
)  # fmt: skip
def test_pins_are_found_however_they_are_written(before: str, after: str) -> None:
    assert edit(before, {"core": "2"}) == after


@pytest.mark.parametrize(
    "text", ["[components]\ncore = {}\n", '[components]\ncore.version = """\n1"""\n']
)
def test_a_pin_that_cannot_be_edited_is_named_with_its_line(text: str) -> None:
    with pytest.raises(ManifestError, match=r"a\.toml:2: components\.core: .* by hand"):
        edit(text, {"core": "2"})


@pytest.mark.parametrize("name", ["0.25.2", "main", "sample", "0.20.0"])
def test_the_edited_release_is_what_loading_the_edited_file_gives(
    name: str, tmp_path: Path
) -> None:
    loaded = find_release(name)
    before = loaded.path.read_text(encoding="utf-8")
    after = edit(before, {"onnxruntime": "1.30.0", "pyinstaller": "7.0"})
    (tmp_path / f"{name}.toml").write_text(after, encoding="utf-8")

    moved = edited_release(loaded, after)

    really = load_release(tmp_path / f"{name}.toml")
    assert moved.row == really.row
    assert moved.pins_digest == really.pins_digest != loaded.pins_digest
    line = lines(after).index('version = "7.0"') + 1
    assert moved.document.where(("components", "pyinstaller", "version")).endswith(f":{line}")


def test_an_edit_that_gives_no_release_is_refused_with_its_line(text: str, release) -> None:
    loaded = release()

    with pytest.raises(ManifestError, match=r"tiny\.toml:\d+: .*expected pypi:project"):
        edited_release(loaded, edited(text, "1.23.2", "1..2"))


def test_a_diff_is_what_git_applies(tmp_path: Path) -> None:
    for before in (
        MANIFESTS[0].read_text(),
        MANIFESTS[0].read_text().replace("\n", "\r\n").rstrip(),
    ):
        path = tmp_path / "a.toml"
        path.write_bytes(before.encode())
        after = edit(before, {"core": "9.9", "zlibwapi": "1.3"})

        diff = unified(before, after, "a.toml")

        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            input=diff.encode(),
            cwd=tmp_path,
            check=True,
        )
        assert path.read_bytes().decode() == after


def test_what_is_written_has_the_permissions_of_what_was_there(tmp_path: Path) -> None:
    path, link = tmp_path / "a.toml", tmp_path / "link.toml"
    path.write_bytes(b"a = 1\r\n")
    path.chmod(0o640)
    link.symlink_to(path)

    write_text(link, "a = 1\r\n", "a = 2\r\n")

    assert path.read_bytes() == b"a = 2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert {each.name for each in tmp_path.iterdir()} == {"a.toml", "link.toml"}


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1\n")
    path.chmod(0o444)

    with pytest.raises(PermissionDeniedError, match="read-only") as caught:
        write_text(path, "a = 1\n", "a = 2\n")

    assert caught.value.exit_status == 8
    assert path.read_text() == "a = 1\n"


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 3\n")

    with pytest.raises(ManifestError, match="changed while versions were looked up"):
        write_text(path, "a = 1\n", "a = 2\n")

    assert path.read_text() == "a = 3\n"


def test_all_packaged_releases_can_be_edited_and_still_load() -> None:
    for name in release_names():
        loaded = find_release(name)
        text = loaded.path.read_text(encoding="utf-8")
        assert (
            edited_release(loaded, edit(text, {"pyinstaller": "6.99"}))
            .row.components["pyinstaller"]
            .version
            == "6.99"
        )
