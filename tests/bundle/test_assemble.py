from __future__ import annotations

import json
from pathlib import Path

import pytest

from vvbuild.bundle.assemble import finished_manifest, gather_licences, place
from vvbuild.bundle.describe import describe_files
from vvbuild.bundle.options import parse_kinds
from vvbuild.bundle.transform import replace_file
from vvbuild.errors import IntegrityError, ManifestError, UsageError
from vvbuild.model.digest import Digest
from vvbuild.model.recipe import Placement


def spread(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()
    }


def row(*members: str, to: str, **options: object) -> Placement:
    return Placement(component="onnxruntime", members=list(members), to=to, **options)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return spread(
        tmp_path / "wheel",
        "ort/capi/libort.so.1.2.3", "ort/capi/libort_cuda.so", "ort/LICENSE",
        "ort/deep/er/data.bin", "nvidia/a/lib/liba.so.1", "nvidia/b/lib/libb.so.2",
    )  # fmt: skip


def lay_out(tmp_path: Path, wheel: Path, *rows: Placement) -> dict[str, str]:
    bundle = tmp_path / "bundle"
    bundle.mkdir(exist_ok=True)
    place(rows, {"onnxruntime": [wheel]}, bundle, {"onnxruntime": "1.2.3"})
    return files(bundle)


def test_a_file_gets_its_new_name(tmp_path: Path, wheel: Path) -> None:
    assert lay_out(tmp_path, wheel, row("ort/capi/libort.so.{version}", to="libort.so")) == {
        "libort.so": "ort/capi/libort.so.1.2.3"
    }


def test_files_go_into_a_folder_by_their_last_name(tmp_path: Path, wheel: Path) -> None:
    laid = lay_out(
        tmp_path, wheel, row("nvidia/*/lib/*.so.*", to="./"), row("ort/LICENSE", to="l/")
    )

    assert set(laid) == {"liba.so.1", "libb.so.2", "l/LICENSE"}


def test_folders_can_be_kept(tmp_path: Path, wheel: Path) -> None:
    assert set(lay_out(tmp_path, wheel, row("ort/deep/*", to="x/", base="ort/"))) == {
        "x/deep/er/data.bin"
    }


def test_a_row_that_matches_nothing_is_named(tmp_path: Path, wheel: Path) -> None:
    """A folder that moved upstream must not give a bundle without libraries."""
    with pytest.raises(ManifestError, match=r"places 'capi/\*\.so' of onnxruntime") as caught:
        lay_out(tmp_path, wheel, row("capi/*.so", to="./"))

    assert "change the row of the recipe" in caught.value.hint


def test_every_member_of_a_row_must_match(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(ManifestError, match="missing"):
        lay_out(tmp_path, wheel, row("ort/LICENSE", "ort/missing", to="./"))


def test_an_optional_row_may_match_nothing(tmp_path: Path, wheel: Path) -> None:
    assert lay_out(tmp_path, wheel, row("nothing/*", to="./", optional=True)) == {}


def test_a_component_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        place([row("x", to="x")], {}, tmp_path, {})
    assert caught.value.context["looked in"] == "nothing"


def test_two_files_cannot_have_one_place(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(IntegrityError, match="Two files want the place 'x'"):
        lay_out(tmp_path, wheel, row("ort/LICENSE", to="x"), row("ort/capi/libort_cuda.so", to="x"))


def test_what_was_placed_is_told_by_row(tmp_path: Path, wheel: Path) -> None:
    rows = [row("nvidia/*/lib/*", to="./"), row("ort/LICENSE", to="l", soname="s")]

    placed = place(rows, {"onnxruntime": [wheel]}, tmp_path / "b", {})

    assert [(placement.to, where) for placement, where in placed] == [
        ("./", "liba.so.1"), ("./", "libb.so.2"), ("l", "l"),
    ]  # fmt: skip


# The manifest


def test_a_manifest_gets_version_and_command_and_keeps_the_rest_in_order() -> None:
    data = '{"name": "音", "version": "999.999.999", "command": "run", "z": 1, "a": 2}'.encode()

    finished = finished_manifest(data, version="1.0", command="run.exe")

    assert list(json.loads(finished).items()) == [
        ("name", "音"), ("version", "1.0"), ("command", "run.exe"), ("z", 1), ("a", 2),
    ]  # fmt: skip
    assert "音" in finished.decode()
    assert finished_manifest(data, version="1.0", command="run.exe") == finished


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf{}", b"[]", b"{", b"", b"\xff", b"1"])
def test_a_manifest_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(ManifestError, match=r"engine_manifest\.json is not valid"):
        finished_manifest(data, version="1", command="run")


# Licences


def test_licences_of_python_and_its_packages_are_gathered(tmp_path: Path) -> None:
    site = spread(
        tmp_path / "site", "a-1.dist-info/LICENSE", "a-1.dist-info/METADATA",
        "b-2.dist-info/licenses/COPYING.txt", "b-2.dist-info/licenses/deep/NOTICE", "c/LICENSE",
    )  # fmt: skip
    stdlib = spread(tmp_path / "stdlib", "LICENSE.txt")

    assert gather_licences(site, stdlib, tmp_path / "bundle") == 4
    assert set(files(tmp_path / "bundle")) == {
        "licenses/python/LICENSE.txt", "licenses/python/a-1/LICENSE",
        "licenses/python/b-2/COPYING.txt", "licenses/python/b-2/deep/NOTICE",
    }  # fmt: skip


def test_a_package_with_its_licence_at_both_places_does_not_stop_the_build(tmp_path: Path) -> None:
    site = spread(tmp_path / "site", "a-1.dist-info/LICENSE", "a-1.dist-info/licenses/LICENSE")

    assert gather_licences(site, tmp_path / "nowhere", tmp_path / "bundle") == 2
    assert set(files(tmp_path / "bundle")) == {
        "licenses/python/a-1/LICENSE", "licenses/python/a-1/licenses/LICENSE",
    }  # fmt: skip


# Transforms


def test_new_content_is_not_written_through_a_hard_link(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_bytes(b"old")
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/x").hardlink_to(shared)

    transform = replace_file(tmp_path / "bundle", "x", b"new", "what", "value")

    assert shared.read_bytes() == b"old"
    assert (tmp_path / "bundle/x").read_bytes() == b"new"
    assert transform.as_json() == {
        "path": "x", "what": "what", "value": "value",
        "before": Digest.of_bytes(b"old").hex, "after": Digest.of_bytes(b"new").hex,
    }  # fmt: skip
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == ["x"]


# Description


def test_every_file_but_itself_is_described(tmp_path: Path) -> None:
    spread(tmp_path, "b", "a/声", "vvbuild.json")
    (tmp_path / "b").chmod(0o755)
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "empty").mkdir()

    assert describe_files(tmp_path) == {
        "a/声": {"kind": "file", "size": 5, "sha256": Digest.of_bytes("a/声".encode()).hex},
        "b": {"kind": "program", "size": 1, "sha256": Digest.of_bytes(b"b").hex},
        "empty": {"kind": "directory"},
        "link": {"kind": "link", "link": "b"},
    }


# Options


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (None, None),
        ("vvpp", ("vvpp",)),
        ("7z,vvpp", ("7z", "vvpp")),
        (" vvpp , 7z ,vvpp,", ("vvpp", "7z")),
    ],
)
def test_archive_formats_are_read(text: str | None, kinds: tuple[str, ...] | None) -> None:
    assert parse_kinds(text) == kinds


@pytest.mark.parametrize("text", ["zip", "", ",", "vvpp,tgz", "VVPP"])
def test_other_formats_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_kinds(text)
    assert not caught.value.message.endswith("?.")
