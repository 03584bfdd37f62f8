"""Where vvbuild.json says that files came from."""

from __future__ import annotations

from pathlib import Path

from vvbuild.bundle.describe import describe_files, find_origins, paths_of


def test_every_file_says_where_it_came_from(tmp_path: Path) -> None:
    for name in ("run", "libz.so.1", "libonnxruntime.so", "licenses/python/x/LICENSE", "stray"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "empty").mkdir()
    host = [{"path": "libz.so.1", "name": "libz.so.1.2.13"}]
    origins = find_origins(
        ["run", "libz.so.1", "link"], paths_of(host), [("onnxruntime", "libonnxruntime.so")]
    )

    rows = describe_files(tmp_path, origins)

    assert {path: row.get("origin") for path, row in rows.items()} == {
        "run": "frozen", "libz.so.1": "host", "link": "frozen", "empty": None,
        "libonnxruntime.so": "onnxruntime", "licenses/python/x/LICENSE": "licences",
        "stray": None,
    }  # fmt: skip


def test_host_libraries_of_any_shape_are_none() -> None:
    assert paths_of(None) == []
    assert paths_of({}) == []
