from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vvbuild.errors import LockError, ManifestError
from vvbuild.locking.run import render_lock
from vvbuild.manifest.lock import load_lock, load_release_lock, lock_path, unpack_row
from vvbuild.manifest.release import LoadedRelease, find_release, load_release, release_names
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock
from vvbuild.model.locked import LockedArtifact, LockFile
from vvbuild.model.target import Target

Rows = list[dict[str, Any]]

# facts/ort-compat.md, section 4: what the registries served when they were looked at.
ONNXRUNTIME = {
    "win-x64-cpu": "902c756d8b633ce0dedd889b7c08459433fbcf35e9c38d1c03ddc020f0648c6e",
    "win-x64-cuda": "054282614c2fc9a4a27d74242afbae706a410f1f63cc35bc72f99709029a5ba4",
    "win-x64-directml": "fe70e8de46560c57c2dfb7170770da32dbb21684504a5c904346c44a56e154f2",
    "macos-x64-cpu": "87d8b6eaf0fbeb6835a60a4265fde7a3b60157cf1b2764773ac47237b4d48612",
    "macos-arm64-cpu": "6f91d2c9b0965e86827a5ba01531d5b669770b01775b23199565d6c1f136616c",
    "linux-x64-cpu": "da44b99206e77734c5819aa2142c69e64f3b46edc3bd314f6a45a932defc0b3e",
    "linux-arm64-cpu": "bbfd2fca76c855317568c1b36a885ddea2272c13cb0e395002c402f2360429a6",
    "linux-x64-cuda": "d76d1ac7a479ecc3ac54482eea4ba3b10d68e888a0f8b5f420f0bdf82c5eec59",
}


@pytest.fixture
def loaded(tiny: str, write: Callable[[str], Path]) -> LoadedRelease:
    return load_release(write(tiny))


@pytest.fixture
def good(loaded: LoadedRelease) -> dict[str, Any]:
    """A lock of the tiny release, as JSON."""
    rows = [
        LockedArtifact(
            name=item.name,
            component=item.component,
            version=item.version,
            references=[str(reference) for reference in item.references],
            sha256=Digest.of_bytes(item.name.encode()).hex,
            size=7,
            targets=list(item.targets),
        )
        for item in loaded.artifacts
    ]
    lock = LockFile(
        schema="vvbuild.lock/1",
        release="tiny",
        manifest_sha256=loaded.pins_digest.hex,
        artifacts=rows,
    )
    return json.loads(render_lock(lock))


@pytest.fixture
def load(tmp_path: Path, loaded: LoadedRelease) -> Callable[[object], Lock]:
    """Load a lock that is JSON, or bytes."""

    def load(document: object) -> Lock:
        path = tmp_path / "tiny.lock.json"
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        path.write_bytes(data)
        return load_lock(path, expected=loaded.pins_digest, release="tiny", pinned=loaded.artifacts)

    return load


@pytest.fixture
def refusal(load: Callable[[object], Lock]) -> Callable[[object], str]:
    """What is said of a lock that cannot be trusted: status 4, and how to write it anew."""

    def refusal(document: object) -> str:
        with pytest.raises(LockError) as caught:
            load(document)
        assert caught.value.exit_status == 4
        assert caught.value.hint == "`vvbuild lock --release tiny` writes it anew."
        return caught.value.message

    return refusal


def test_a_good_lock_is_read(good: dict[str, Any], load: Callable[[object], Lock]) -> None:
    lock = load(good)

    assert [item.name for item in lock.artifacts] == ["linux-1.23.2.whl", "win.whl"]
    assert lock.artifacts[0].limit == 7


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


BROKEN: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "without a digest": (
        lambda rows: [without(rows[0], "sha256"), rows[1]],
        "artifacts[0]: expected sha256, or the reason why nobody knows it",
    ),
    "without size and max_size": (
        lambda rows: [without(rows[0], "size"), rows[1]],
        "artifacts[0]: expected size or max_size; without both there is no limit",
    ),
    "a digest in capitals": (
        lambda rows: [{**rows[0], "sha256": "A" * 64}, rows[1]],
        "artifacts[0].sha256: expected a string matching regex",
    ),
    "a digest of another kind": (
        lambda rows: [{**rows[0], "sha256": "0" * 40}, rows[1]],
        "artifacts[0].sha256: expected a string matching regex",
    ),
    "a negative size": (
        lambda rows: [{**rows[0], "size": -1}, rows[1]],
        "artifacts[0].size: expected a whole number >= 0",
    ),
    "a size in words": (
        lambda rows: [{**rows[0], "size": "7"}, rows[1]],
        "artifacts[0].size: expected a whole number",
    ),
    "an unknown key": (
        lambda rows: [{**rows[0], "sha265": ""}, rows[1]],
        "artifacts[0].sha265: unknown key 'sha265'; did you mean sha256?",
    ),
    "the same artifact twice": (
        lambda rows: [*rows, rows[0]],
        "artifacts[2].name: 'linux-1.23.2.whl' stands twice",
    ),
    "a name that is a path": (
        lambda rows: [{**rows[0], "name": "../x"}, rows[1]],
        "artifacts[0]: not a plain file name: '../x'",
    ),
    "plain HTTP": (
        lambda rows: [{**rows[0], "references": ["http://host.example/x"]}, rows[1]],
        "artifacts[0]: expected pypi:",
    ),
    "a local file": (
        lambda rows: [{**rows[0], "references": ["file:///x"]}, rows[1]],
        "is local; only https:// is allowed here",
    ),
    "no reference": (
        lambda rows: [{**rows[0], "references": []}, rows[1]],
        "artifacts[0].references: expected an array of length >= 1",
    ),
    "a gap": (
        lambda rows: rows[1:],
        "artifacts: 'linux-1.23.2.whl' is pinned and not locked",
    ),
    "something that nobody pinned": (
        lambda rows: [*rows, {**rows[0], "name": "extra.whl"}],
        "artifacts[2]: 'extra.whl' is locked and not pinned",
    ),
    "another version than the pin": (
        lambda rows: [{**rows[0], "version": "1.23.1"}, rows[1]],
        "artifacts[0].version: expected '1.23.2', as the manifest pins it",
    ),
    "another place than the pin": (
        lambda rows: [{**rows[0], "references": ["https://evil.example/x.whl"]}, rows[1]],
        "artifacts[0].references: expected ['pypi:onnxruntime/1.23.2/linux-1.23.2.whl']",
    ),
    "another target than the pin": (
        lambda rows: [{**rows[0], "targets": []}, rows[1]],
        "artifacts[0].targets: expected ['linux-x64-cpu'], as the manifest pins it",
    ),
    "another component than the pin": (
        lambda rows: [{**rows[0], "component": "cuda"}, rows[1]],
        "artifacts[0].component: expected 'onnxruntime', as the manifest pins it",
    ),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_a_lock_that_cannot_be_trusted_is_refused(
    case: tuple[Callable[[Rows], Rows], str],
    good: dict[str, Any],
    refusal: Callable[[object], str],
    tmp_path: Path,
) -> None:
    change, words = case
    message = refusal({**good, "artifacts": change(good["artifacts"])})

    assert words in message
    assert message.startswith(f"{tmp_path / 'tiny.lock.json'}:1: ")


def test_the_lock_of_another_manifest_is_refused(
    good: dict[str, Any], refusal: Callable[[object], str]
) -> None:
    assert "another state of the manifest" in refusal({**good, "manifest_sha256": "0" * 64})
    assert "but this is the lock of 'other'" in refusal({**good, "release": "other"})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff",
        b"[" * 200_000,
        b"{}",
        b'{"schema": 1}',
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda data: repr(data[:8]),
)  # fmt: skip
def test_what_is_no_lock_is_refused(data: bytes, refusal: Callable[[object], str]) -> None:
    assert "tiny.lock.json" in refusal(data)


def test_a_syntax_error_is_told_with_its_line(
    good: dict[str, Any], refusal: Callable[[object], str]
) -> None:
    text = json.dumps(good, indent=1).replace('"release": "tiny"', '"release": tiny')

    assert "tiny.lock.json:3: " in refusal(text.encode())


@pytest.mark.parametrize("there", [False, True], ids=["missing", "a directory"])
def test_a_release_without_a_lock_is_told_how_to_make_one(
    there: bool, tmp_path: Path, loaded: LoadedRelease
) -> None:
    path = tmp_path / "x.lock.json"
    if there:
        path.mkdir()

    with pytest.raises(LockError, match="has no lock") as caught:
        load_lock(path, expected=loaded.pins_digest, release="tiny", pinned=loaded.artifacts)
    assert caught.value.exit_status == 4
    assert "vvbuild lock --release tiny" in caught.value.hint


def test_a_row_with_only_a_largest_size_is_read() -> None:
    row = LockedArtifact(
        name="a", component="core", version="1", references=["pypi:a/1/a"], sha256="0" * 64,
        targets=[], max_size=9,
    )  # fmt: skip

    assert unpack_row(row).limit == 9
    assert unpack_row(row).size is None


# The packaged locks


@pytest.mark.parametrize("name", release_names())
def test_packaged_locks_are_whole(name: str) -> None:
    loaded = find_release(name)
    lock = load_release_lock(loaded)
    names = [item.name for item in (*lock.artifacts, *lock.unlocked)]

    assert sorted(names) == sorted(item.name for item in loaded.artifacts)
    assert all(item.limit and item.references for item in lock.artifacts)
    for target in loaded.targets:
        here = {item.component for item in (*lock.for_target(target), *lock.gaps(target))}
        assert here >= {"onnxruntime", "pyinstaller"}
        assert target.device == "cuda" or not here & {"cuda", "cudnn"}


def test_the_sample_is_locked_to_the_last_byte() -> None:
    loaded = find_release("sample")
    lock = load_release_lock(loaded)

    assert lock.unlocked == ()
    assert [item.name for item in lock.artifacts] == [item.name for item in loaded.artifacts]
    assert all(item.size for item in lock.artifacts)
    for target in loaded.targets:
        here = {item.component for item in lock.for_target(target)}
        assert ("cuda" in here) == (target.device == "cuda")


@pytest.mark.parametrize("name", [*release_names(), "tools"])
def test_packaged_locks_are_written_as_lock_writes_them(name: str) -> None:
    """So that writing one anew changes only what has changed."""
    import msgspec

    data = lock_path(name).read_bytes()

    assert render_lock(msgspec.json.decode(data, type=LockFile)) == data


def test_the_sample_has_the_onnx_runtime_that_was_looked_at() -> None:
    loaded = find_release("sample")
    lock = load_release_lock(loaded)
    found = {
        str(target): [item.sha256.hex for item in lock.component("onnxruntime", target)]
        for target in loaded.targets
    }

    assert found == {target: [digest] for target, digest in ONNXRUNTIME.items()}


# A pin that stands for several assets

GLOB = """
[components.models]
version = "0.16.4"
source = "github"
pattern = "[!n]*"

[[artifacts]]
component = "models"
targets = ["*"]
references = ["github:owner/models@{version}/{asset}"]
assets = "{pattern}.vvm"
into = "vvms"
unpack = "no"
max_size = "1MiB"
"""


@pytest.fixture
def globbed(write: Callable[[str], Path], tiny: str) -> LoadedRelease:
    return load_release(write(tiny + GLOB))


def model_row(name: str, **changes: object) -> dict[str, object]:
    row = {
        "name": name, "component": "models", "version": "0.16.4",
        "references": [f"github:owner/models@0.16.4/{name}"], "sha256": "7" * 64,
        "targets": ["linux-x64-cpu", "win-x64-cpu"], "size": 3,
    }  # fmt: skip
    return row | changes


@pytest.fixture
def locked(globbed: LoadedRelease, tmp_path: Path) -> Callable[..., Lock]:
    """Load a lock of the release with these rows for its models."""

    def locked(*models: dict[str, object]) -> Lock:
        others = [
            {
                "name": pin.name, "component": pin.component, "version": pin.version,
                "references": [str(each) for each in pin.references], "sha256": "1" * 64,
                "targets": list(pin.targets), "size": 1,
            }
            for pin in globbed.artifacts
            if not pin.is_glob
        ]  # fmt: skip
        document = {
            "schema": "vvbuild.lock/1", "release": "tiny",
            "manifest_sha256": globbed.pins_digest.hex, "artifacts": [*others, *models],
        }  # fmt: skip
        path = tmp_path / "globbed.lock.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return load_lock(
            path, expected=globbed.pins_digest, release="tiny", pinned=globbed.artifacts
        )

    return locked


def test_each_asset_that_a_glob_stands_for_has_a_row(locked: Callable[..., Lock]) -> None:
    lock = locked(model_row("0.vvm"), model_row("1.vvm", sha256="8" * 64))

    models = lock.component("models", Target.parse("linux-x64-cpu"))
    assert [item.name for item in models] == ["0.vvm", "1.vvm"]
    assert {item.into for item in models} == {"vvms"}
    assert {item.unpack for item in models} == {"no"}


def test_a_glob_can_stay_unlocked_as_a_whole(locked: Callable[..., Lock]) -> None:
    row = model_row("[!n]*.vvm", unlocked="the list is not known", max_size=9)
    del row["sha256"]

    (gap,) = locked(row).gaps(Target.parse("win-x64-cpu"))
    assert (gap.name, gap.reason) == ("[!n]*.vvm", "the list is not known")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "'[!n]*.vvm' is pinned and not locked"),
        ([model_row("n0.vvm")], "'n0.vvm' is locked and not pinned"),
        ([model_row("0.vvm", version="0.16.3")], "expected '0.16.4', as the manifest pins it"),
        (
            [model_row("0.vvm", references=["github:owner/others@0.16.4/0.vvm"])],
            "expected ['github:owner/models@0.16.4/0.vvm'], as the manifest pins it",
        ),
        ([model_row("[!n]*.vvm")], "not a plain file name"),
        ([model_row("0.vvm"), model_row("0.vvm")], "stands twice"),
    ],
)  # fmt: skip
def test_rows_that_a_glob_does_not_stand_for_are_refused(
    locked: Callable[..., Lock], rows: list[dict[str, object]], words: str
) -> None:
    with pytest.raises(LockError) as caught:
        locked(*rows)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{asset}", "1.vvm", "expected github:owner/repo@tag/{asset}"),
        ("github:owner/models@{version}/{asset}", "https://host.example/{asset}", "expected git"),
        ('"{pattern}.vvm"', '"a/{pattern}.vvm"', "expected a glob of file names"),
        ('unpack = "no"', 'name = "models.zip"', "exclude each other"),
        ('into = "vvms"', 'into = "../vvms"', "expected a folder inside"),
        ('unpack = "no"', 'unpack = "yes"', "unknown value 'yes'"),
    ],
)
def test_a_glob_that_cannot_be_meant_is_refused_with_its_line(
    write: Callable[[str], Path], tiny: str, old: str, new: str, words: str
) -> None:
    assert old in GLOB
    with pytest.raises(ManifestError) as caught:
        load_release(write(tiny + GLOB.replace(old, new)))
    assert words in caught.value.message
    assert "artifacts[2]" in caught.value.message
