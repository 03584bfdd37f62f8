"""Bundles to pack, and how they look afterwards."""

from __future__ import annotations

import os
from pathlib import Path

EPOCH = 1_700_000_000
"""2023-11-14 22:13:20 UTC."""


def make_bundle(root: Path, *, backwards: bool = False) -> None:
    """Files, programs, links, empty things and Japanese names, made in either order."""
    files = {
        "engine_manifest.json": b'{"name": "\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88"}',
        "run": bytes(range(256)) * 64,
        "resources/キャラ/アイコン.png": bytes(range(255, 0, -1)) * 9,
        "resources/empty.txt": b"",
        "engine_internal/libx.so.1": b"\x7fELF" + b"code " * 5000,
        "engine_internal/a b/c.txt": b"spaces\n",
        "engine_internal.txt": b"sorts before what is in engine_internal/\n",
    }
    names = sorted(files, reverse=backwards)
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
        path.chmod(0o755 if name in ("run", "engine_internal/libx.so.1") else 0o644)
    (root / "model").mkdir()
    (root / "engine_internal/libx.so").symlink_to("libx.so.1")
    (root / "resources/latest").symlink_to("キャラ")


def seen(root: Path) -> dict[str, tuple[str, bytes]]:
    """A tree as people see it: what is where, its mode or kind, and its bytes."""
    found: dict[str, tuple[str, bytes]] = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files]:
            path = Path(directory, name)
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[key] = ("link", path.readlink().as_posix().encode())
            elif path.is_dir():
                found[key] = ("directory", b"")
            else:
                found[key] = (f"{path.stat().st_mode & 0o777:o}", path.read_bytes())
    return found
