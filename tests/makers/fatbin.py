"""Writes sections of GPU code, with no code in them.

``make_gpu_code([["sm_80", "compute_90"], ["sm_90a"]])`` gives the bytes of a section with two
containers, to be put into ``.nv_fatbin`` by the makers of ELF and PE files.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence

_KINDS = {"compute": 1, "sm": 2, "lto": 8}
_SUFFIXES = {"": 0, "a": 0x10_0000, "f": 0x20_0000}
_NAME = re.compile(r"(sm|compute|lto)_(\d+)([af]?)")


def make_gpu_code(containers: Iterable[Sequence[str]], *, padding: bytes = b"") -> bytes:
    """The bytes of a section; ``padding`` stands between containers."""
    return padding.join(container_bytes(*map(entry_bytes, each)) for each in containers)


def container_bytes(*entries: bytes, magic: int = 0xBA55_ED50, version: int = 1) -> bytes:
    """A container around entries."""
    content = b"".join(entries)
    return struct.pack("<IHHQ", magic, version, 16, len(content)) + content


def entry_bytes(name: str, *, header: int = 64, payload: int = 40, flags: int = 0x11) -> bytes:
    """An entry for a target as NVIDIA calls it: ``sm_90a``, ``compute_120``."""
    match = _NAME.fullmatch(name)
    assert match is not None, name
    kind, arch, suffix = match.groups()
    start = struct.pack("<HHIQ", _KINDS[kind], 0x0101, header, payload) + bytes(8)
    start += struct.pack("<HHI", 7, 1, int(arch)) + bytes(8)
    start += struct.pack("<Q", flags | _SUFFIXES[suffix])
    return start.ljust(header, b"\0") + b"\xab" * payload
