"""Rules over a bundle: what every program and library must be."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.rules.bundle.wording import together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)


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
    """What is called a program or a library is one, and its headers can be read."""
    table = evidence.tables.bytes.content
    groups: dict[str, list[str]] = {}
    for path, file in evidence.files.items():
        # An empty one has a finding of its own: `zero-byte-data`, or `program-missing`.
        if file.kind not in ("file", "program") or not file.size or file.binary is not None:
            continue
        if file.malformed is not None:
            groups.setdefault(f"cannot be read: {file.malformed}", []).append(path)
        elif path == evidence.program or table.is_code(path, evidence.os):
            groups.setdefault("is neither a program nor a library", []).append(path)
    for words, paths in groups.items():
        yield together(paths, words, f"{{n}} files: each {words}")
