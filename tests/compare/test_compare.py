"""What differs from one release to another."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from vvbuild.compare import files
from vvbuild.compare.differences import Change, Comparison, File, FileChange
from vvbuild.compare.files import file_changes
from vvbuild.compare.manifests import _FIELDS, pin_changes, setting_changes
from vvbuild.compare.run import compare
from vvbuild.compare.sides import find_side
from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.manifest.lock import load_release_lock
from vvbuild.manifest.release import LoadedRelease, find_release, load_release, release_names
from vvbuild.manifest.targets import official_targets
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Unlocked
from vvbuild.model.release import Component, Release, Waiver
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.report.plain import display_width, render
from vvbuild.report.views.diff import diff_view

TODAY = date(2026, 12, 1)
ALL = tuple(official_targets())
LINUX, WINDOWS = Target.parse("linux-x64-cpu"), Target.parse("win-x64-cpu")


@cache
def between(before: str, after: str) -> Comparison:
    return compare(find_release(before), find_release(after), today=TODAY)


def keys(changes: tuple[Change, ...]) -> dict[str, tuple[str | None, str | None]]:
    return {each.key: (each.before, each.after) for each in changes}


# What it tells


def test_a_patch_release_moved_two_pins() -> None:
    result = between("0.25.1", "0.25.2")

    assert keys(result.pins) == {
        "models.version": ("0.16.3", "0.16.4"),
        "resource.version": ("0.25.1", "0.25.2"),
    }
    assert set(keys(result.settings)) == {"engine.version", "engine.commit", "engine.time"}
    assert (result.targets, result.jobs, result.waivers_new) == ((), (), ())
    assert {each.after.component for each in result.files if each.after} <= {"models"}


def test_the_era_of_the_downloader_changed_sources_and_files() -> None:
    result = between("0.24.1", "0.25.0")

    pins = keys(result.pins)
    assert pins["downloader.version"] == (None, "0.16.2")
    assert pins["onnxruntime.flavour"] == ("microsoft", "voicevox")
    assert pins["cuda.provided_by"] == (None, "additional-libraries")
    (cuda,) = (each for each in result.pins if each.key == "cuda.version")
    assert list(map(str, cuda.targets)) == ["win-x64-cuda", "linux-x64-cuda"]
    replaced = {
        change.before.name: change.after.name
        for change in result.files
        if change.before and change.after
    }
    assert replaced["onnxruntime-linux-x64-1.13.1.tgz"] == (
        "voicevox_onnxruntime-linux-x64-1.17.3.tgz"
    )
    assert {each.rule for each in result.findings_new} >= {"cuda-built-newer-than-shipped"}


def test_a_new_target_is_told_once_and_not_by_its_pins() -> None:
    result = between("0.19.1", "0.20.0")

    # macOS on arm64 came with 0.20.
    assert [(each.before, each.after) for each in result.targets] == [(None, "macos-arm64-cpu")]
    assert not any(Target.parse("macos-arm64-cpu") in each.targets for each in result.pins)
    assert not any("osx-arm64" in (each.after or each.before).name for each in result.files)


def test_a_waiver_that_came_is_told_with_its_reason() -> None:
    result = between("0.25.2", "main")

    assert not result.waivers_gone
    assert "cudnn-major" in [each.rule for each in result.waivers_new]
    assert all(each.reason for each in result.waivers_new)
    waived = [each for each in result.findings_new if each.rule == "cudnn-major"]
    assert waived
    assert all(each.waived for each in waived)


def test_other_runners_and_names_are_told() -> None:
    result = between("0.22.2", "0.24.1")
    told = {(each.key, each.before, each.after) for each in result.jobs}

    assert ("upstream", "linux-cpu", "linux-cpu-x64") in told
    assert any(key == "runner" for key, _, _ in told)


# Algebra


@pytest.mark.parametrize("name", release_names())
def test_nothing_differs_from_itself(name: str) -> None:
    result = between(name, name)

    assert result.identical
    assert render(diff_view(result).blocks, 80).splitlines()[-1] == (
        f"Nothing differs between {name} and {name}."
    )


def swapped(change: Change) -> Change:
    return Change(change.key, change.after, change.before, change.targets)


# Every neighbour, and pairs from one era to another.
PAIRS = [
    *itertools.pairwise(release_names()),
    ("0.14.0", "main"), ("0.14.0", "sample"), ("sample", "0.25.2"), ("0.22.2", "0.24.1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_the_other_way_round_it_says_the_same_with_sides_swapped(before: str, after: str) -> None:
    there, back = between(before, after), between(after, before)

    assert there.common == back.common
    for name in ("targets", "settings", "pins", "jobs"):
        assert list(map(swapped, getattr(there, name))) == list(getattr(back, name))
    assert Counter(FileChange(each.after, each.before) for each in there.files) == Counter(
        back.files
    )
    assert there.findings_gone == back.findings_new
    assert there.findings_new == back.findings_gone
    assert there.waivers_gone == back.waivers_new
    assert not there.identical


VERSIONS = st.sampled_from(["1.0", "1.1", "2.0"])
TARGETS = st.lists(st.sampled_from(list(map(str, ALL))), min_size=1, max_size=4, unique=True)
COMPONENTS = st.builds(
    Component,
    version=VERSIONS,
    source=st.sampled_from(["github", "url"]),
    targets=st.sampled_from([["*"], ["linux-*"], ["*-cuda"], ["win-*", "macos-*"]]),
    versions=st.dictionaries(st.sampled_from(["win-*", "linux-x64-*"]), VERSIONS, max_size=2),
)


@st.composite
def releases(draw: Callable[..., object]) -> Release:
    base = find_release("sample").row
    components = draw(
        st.dictionaries(st.sampled_from(["core", "cuda", "onnxruntime"]), COMPONENTS, max_size=3)
    )
    return msgspec.structs.replace(base, targets=draw(TARGETS), components=components)


@settings(max_examples=200, deadline=None)
@given(before=releases(), after=releases())
def test_pins_of_any_two_releases_mirror_and_say_what_each_target_has(
    before: Release, after: Release
) -> None:
    common = tuple(each for each in ALL if {str(each)} <= {*before.targets} & {*after.targets})
    there = list(pin_changes(before, after, common))

    assert list(map(swapped, there)) == list(pin_changes(after, before, common))
    assert list(pin_changes(before, before, common)) == []
    for target in common:
        old, new = before.versions_for(str(target)), after.versions_for(str(target))
        told = {
            each.key.partition(".")[0]: (each.before, each.after)
            for each in there
            if each.key.endswith(".version") and target in each.targets
        }
        assert told == {
            name: (old.get(name), new.get(name))
            for name in old.keys() | new.keys()
            if old.get(name) != new.get(name)
        }


FILES = st.lists(
    st.builds(
        File,
        name=st.sampled_from(["a.zip", "b.zip", "c.zip", "d.zip"]),
        component=st.sampled_from(["core", "cuda"]),
        version=VERSIONS,
        references=st.just(("https://host.example/x",)),
        targets=st.sampled_from([("linux-x64-cpu",), ("win-x64-cpu",), (str(WINDOWS), str(LINUX))]),
        sha256=st.sampled_from([None, Digest("0" * 64), Digest("1" * 64)]),
        size=st.sampled_from([None, ByteSize(1)]),
    ),
    max_size=4,
    unique_by=lambda file: file.name,
)


@given(before=FILES, after=FILES)
def test_no_file_is_lost_and_none_is_told_twice(before: list[File], after: list[File]) -> None:
    common = (WINDOWS, LINUX)
    changes = file_changes(before, after, common)
    same = {each.name for each in before for other in after if each == other}

    gone = [each.before.name for each in changes if each.before]
    new = [each.after.name for each in changes if each.after]
    assert sorted(gone) == sorted({each.name for each in before} - same)
    assert sorted(new) == sorted({each.name for each in after} - same)
    assert Counter(FileChange(each.after, each.before) for each in changes) == Counter(
        file_changes(after, before, common)
    )


# Single things


def one(**changes: object) -> tuple[LoadedRelease, LoadedRelease]:
    """0.25.2, and 0.25.2 with something else in it."""
    loaded = find_release("0.25.2")
    row = msgspec.structs.replace(loaded.row, **changes)
    return loaded, LoadedRelease(loaded.document, row)


def test_every_key_of_a_manifest_is_compared() -> None:
    """A field that nobody thought of would be a difference that nobody sees."""
    plain = {"schema", "name", "summary", "extends"}
    before = find_release("0.25.2").row
    archives = msgspec.structs.replace(before.archives, zip_level=1)
    engine = msgspec.structs.replace(before.engine, spec="other.spec", files={"a": "b"})
    tools = {**before.tools, "zig": "0.0.1"}
    waiver = Waiver(rule="cuda-major", targets=["*"], reason="why")
    changes: dict[str, object] = {
        "targets": before.targets[1:],
        "engine": engine,
        "python": msgspec.structs.replace(before.python, requires="==3.12.1"),
        "components": {k: v for k, v in before.components.items() if k != "resource"},
        "archives": archives,
        "artifacts": before.artifacts[1:],
        "tools": tools,
        "runners": {"win-x64-cpu": "windows-2025"},
        "upstream": {"win-x64-cpu": "windows"},
        "waivers": [waiver],
        "bootloader": "gcc",
        "floors": {"glibc": "2.31"},
    }

    assert set(changes) | plain == set(Release.__struct_fields__)
    for key, value in changes.items():
        result = compare(*one(**{key: value}), today=TODAY)
        assert not result.identical, key


def test_every_key_of_a_component_is_compared() -> None:
    apart = {"version", "versions", "targets"}  # by what each target has
    prose = {"note"}

    assert {*_FIELDS} | apart | prose == set(Component.__struct_fields__)


def test_settings_are_told_by_their_path() -> None:
    before = find_release("0.25.2").row
    after = msgspec.structs.replace(before, tools={**before.tools, "zig": "0.0.1", "new": "1"})

    assert [(each.key, each.before, each.after) for each in setting_changes(before, after)] == [
        ("tools.new", None, "1"),
        ("tools.zig", before.tools["zig"], "0.0.1"),
    ]


def test_a_lock_that_cannot_be_read_is_said_and_the_names_still_compared() -> None:
    loaded = find_release("0.25.2")
    components = dict(loaded.row.components)
    components["core"] = msgspec.structs.replace(components["core"], version="0.16.3")
    result = compare(*one(components=components), today=TODAY)

    assert [name for name, _ in result.problems] == ["0.25.2"]
    names = {(each.before.name, each.after.name) for each in result.files if each.before}
    assert ("voicevox_core-osx-x64-0.16.2.zip", "voicevox_core-osx-x64-0.16.3.zip") in names
    shown = render(diff_view(result).blocks, 80)
    assert "its files are those that the manifest names" in shown.replace("\n  ", " ")


def test_other_bytes_under_the_same_name_are_told() -> None:
    old = File("a.zip", "core", "1", ("https://h/a.zip",), (str(LINUX),), Digest("0" * 64), None)
    new = File("a.zip", "core", "1", ("https://h/a.zip",), (str(LINUX),), Digest("1" * 64), None)

    assert file_changes([old], [new], (LINUX,)) == (FileChange(old, new),)
    assert file_changes([old], [new], (WINDOWS,)) == ()


def test_a_glob_gives_way_to_the_files_that_the_lock_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = find_release("0.25.2")
    targets = tuple(release.row.targets)
    (glob,) = (each for each in release.artifacts if each.is_glob)
    lock = load_release_lock(release)
    voice = Artifact(
        "0.vvm", "models", glob.version, (), Digest("0" * 64), ByteSize(1), targets=targets
    )
    gaps = [Unlocked("1.vvm", "models", glob.version, targets, "why")]
    monkeypatch.setattr(files, "load_release_lock", lambda _: replace(
        lock, artifacts=(voice,), unlocked=tuple(gaps)
    ))  # fmt: skip
    found, problem = files.files_of(release)

    assert problem is None
    assert [(each.name, each.sha256) for each in found] == [
        ("0.vvm", voice.sha256),
        ("1.vvm", None),
    ]
    assert all(ref.endswith("/1.vvm") for ref in found[1].references)


# What the words of the command mean


@pytest.mark.parametrize(
    "word", ["out/engine.vvpp", "./bundle", "a.7z.001", "here.lock.json", "C:\\bundle"]
)
def test_a_path_of_something_else_is_refused_with_what_can_be_done(
    word: str, tmp_path: Path
) -> None:
    if "\\" not in word:
        (tmp_path / word).parent.mkdir(exist_ok=True)
        (tmp_path / word).write_bytes(b"")
    with pytest.raises(UsageError, match="only releases can be compared") as caught:
        find_side(word, tmp_path)

    assert not isinstance(caught.value, UnknownNameError)
    assert "vvbuild diff 0.25.1 0.25.2" in str(caught.value.hint)


def test_a_release_wins_over_a_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()

    assert find_side("main", tmp_path).name == "main"


def test_a_name_of_nothing_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"0\.25\.2"):
        find_side("0.25.3", tmp_path)


def test_a_manifest_of_ones_own_is_compared_with_a_release(tmp_path: Path) -> None:
    text = (
        'schema = "vvbuild.release/1"\nname = "mine"\nsummary = "Mine"\nextends = "0.25.2"\n'
        '[components.resource]\nversion = "9.9"\n'
    )
    (tmp_path / "vvbuild.toml").write_text(text)
    own = find_side(str(tmp_path / "vvbuild.toml"), tmp_path)

    assert own.row == load_release(tmp_path / "vvbuild.toml").row
    result = compare(find_release("0.25.2"), own, today=TODAY)
    assert keys(result.pins) == {"resource.version": ("0.25.2", "9.9")}


# What people read


@pytest.mark.parametrize(
    ("before", "after"), [("0.25.1", "0.25.2"), ("0.25.2", "main"), ("0.19.1", "0.20.0")]
)
def test_what_people_read(before: str, after: str, snapshot: SnapshotAssertion) -> None:
    view = diff_view(between(before, after))
    text = render(view.blocks, 80)

    assert text == snapshot
    assert all(display_width(line) <= 80 for line in text.splitlines())
    assert view.status == 0


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_what_programs_read_is_json_and_complete(before: str, after: str) -> None:
    result = between(before, after)
    data = json.loads(json.dumps(diff_view(result).data))

    assert (data["before"], data["after"]) == (before, after)
    assert data["identical"] is False
    assert len(data["pins"]) == len(result.pins)
    assert len(data["artifacts"]) == len(result.files)
    assert len(data["findings"]["new"]) == len(result.findings_new)
    for side in ("before", "after"):
        for each in filter(None, (row[side] for row in data["artifacts"])):
            assert {"name", "component", "version", "sha256", "size"} <= set(each)
