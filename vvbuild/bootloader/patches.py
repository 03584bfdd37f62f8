"""Unified diffs for PyInstaller's sources, applied to the letter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vvbuild.errors import BootloaderError
from vvbuild.manifest.bootloader import Patch


def apply_patches(patches: Iterable[Patch], sources: Path) -> None:
    """Change the files below ``sources`` that the diffs name, each by ``a/…`` and ``b/…``.

    Raises :class:`BootloaderError` for a diff that does not fit: a line that has moved or
    changed since is a reason to look at it, not to guess.
    """
    import whatthepatch
    from whatthepatch.exceptions import WhatThePatchException

    for patch in patches:
        diffs = list(whatthepatch.parse_patch(patch.path.read_text("utf-8")))
        if not diffs:
            raise _refusal(patch, "it holds no diff")
        for diff in diffs:
            if diff.header is None or diff.header.new_path is None:
                raise _refusal(patch, "it names no file")
            path = sources / diff.header.new_path.removeprefix("b/")
            if not path.resolve().is_relative_to(sources.resolve()) or not path.is_file():
                raise _refusal(patch, f"there is no {diff.header.new_path}")
            lines = path.read_text("utf-8").splitlines()
            try:
                changed = whatthepatch.apply_diff(diff, lines)
            except WhatThePatchException as error:
                raise _refusal(patch, str(error)) from error
            path.write_bytes(("\n".join(changed) + "\n").encode())


def _refusal(patch: Patch, why: str) -> BootloaderError:
    return BootloaderError(
        f"{patch.path.name} does not fit this PyInstaller: {why}.",
        context={"patch": patch.path, "why": patch.why},
        hint="Make the patch anew for this version, or narrow `versions` of its row.",
    )
