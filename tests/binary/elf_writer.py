"""ELF files under the names that some tests know; :mod:`tests.makers.elf` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.makers.elf import elf_bytes


def elf(
    *, versions: Mapping[str, Sequence[str]] | None = None, machine: int = 62, kind: int = 3,
    **facts: object,
) -> bytes:  # fmt: skip
    """A 64-bit little-endian file without section headers of its own.

    ``versions`` maps a library to the versions needed of it.
    """
    return elf_bytes(needs=versions, machine=machine, kind=kind, headers=False, **facts)  # type: ignore[arg-type]
