"""Rules over a bundle: what every program and library must be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vvbuild.rules.bundle.wording import together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_FRAMEWORK = re.compile(r"(.*\.framework)/Versions/")


@rule(
    "wrong-arch",
    "error",
    why="A library for another processor cannot be loaded.",
    source="VOICEVOX/onnxruntime-builder#29",
    fix="Fetch the artifact for this target; look at its row in the manifest.",
)
def wrong_arch(evidence: BundleEvidence) -> Iterator[Found]:
    """Every program and library of the target's system is for its processor."""
    if evidence.target is None:
        return
    arch = evidence.target.arch
    groups: dict[str, list[str]] = {}
    for file in evidence.binaries():
        if file.os == evidence.target.os and arch not in file.machines:
            groups.setdefault(" and ".join(file.machines), []).append(file.path)
    for machine, paths in groups.items():
        yield together(
            paths,
            f"is for {machine}, the target is {arch}",
            f"{{n}} files are for {machine}, the target is {arch}",
            machine=machine,
        )


@rule(
    "signature-stale",
    "error",
    why="On Apple silicon macOS kills a program whose bytes are not what its signature says: "
    "whoever changes a name or an rpath must sign again.",
    source="VOICEVOX/voicevox_engine#1354",
    fix="Change names before signing, or sign again: `codesign --force --sign -`.",
)
def signature_stale(evidence: BundleEvidence) -> Iterator[Found]:
    """Every Mach-O file for arm64 is signed, and its bytes are those that were signed."""
    if evidence.os != "macos":
        return
    for file in evidence.binaries():
        part = file.macho.slice_for("arm64") if file.macho is not None else None
        if file.stale is not None:
            yield Found(f"its signature is stale: {file.stale}", file.path)
        elif part is not None and part.signature is None and part.kind in ("execute", "dylib"):
            yield Found("is not signed, which macOS on arm64 demands", file.path)


@rule(
    "framework-links",
    "error",
    why="A framework is a folder of links; without them it cannot be signed, and is there twice.",
    source="pyinstaller/pyinstaller#8927",
    fix="Pack with a tool that keeps links.",
)
def framework_links(evidence: BundleEvidence) -> Iterator[Found]:
    """In a framework `Versions/Current`, and what lies beside `Versions`, are links."""
    if evidence.os != "macos":
        return
    frameworks = {match[1] for path in evidence.files if (match := _FRAMEWORK.match(path))}
    for framework in sorted(frameworks):
        current = evidence.files.get(f"{framework}/Versions/Current")
        copies = sorted(
            path
            for path, file in evidence.files.items()
            if path.rpartition("/")[0] == framework and file.link is None
        )
        if current is None or current.link is None:
            yield Found("Versions/Current is not a link", framework)
        elif copies:
            names = ", ".join(path.rpartition("/")[2] for path in copies)
            yield Found(f"{names} should be links into Versions/Current", framework)


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
