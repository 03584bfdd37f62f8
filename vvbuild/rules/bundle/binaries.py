"""Rules over a bundle: what every program and library must be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_LIBRARY = {"linux": "libonnxruntime.so", "macos": "libonnxruntime.dylib", "win": "onnxruntime.dll"}
_SHARED_LIBRARY = re.compile(r"\.so(\.[0-9]+)*$")


@rule(
    "wrong-arch",
    "error",
    why="A library for another processor cannot be loaded.",
    source="VOICEVOX/onnxruntime-builder#29",
    fix="Fetch the artifact for this target; look at its row in the manifest.",
)
def wrong_arch(evidence: BundleEvidence) -> Iterator[Found]:
    """Every ELF file is for the target's processor."""
    if evidence.target is None:
        return
    for file in evidence.files.values():
        if file.elf is not None and file.elf.machine != evidence.target.arch:
            yield Found(
                f"is for {file.elf.machine}, the target is {evidence.target.arch}",
                file.path,
                {"machine": file.elf.machine},
            )


@rule(
    "binary-malformed",
    "error",
    why="A truncated or damaged library fails when it is loaded, far from its cause.",
    source="stenolabs/stenoai#443",
    fix="Build again from verified artifacts.",
)
def binary_malformed(evidence: BundleEvidence) -> Iterator[Found]:
    """Programs and shared libraries on Linux are ELF files that can be read."""
    if evidence.target is None or evidence.target.os != "linux":
        return
    for path, file in evidence.files.items():
        is_code = _SHARED_LIBRARY.search(path) or (path == evidence.program and file.size)
        readable = file.kind in ("link", "directory") or file.elf is not None
        if is_code and not readable:
            yield Found("is not an ELF file that can be read", path)
