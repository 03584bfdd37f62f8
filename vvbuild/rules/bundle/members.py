"""Rules over a bundle: names, links and modes of a bundle's members."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.linking.links import aim, followed, leaves
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"


@rule(
    "exec-bit-missing",
    "error",
    why="A program without its execute bit does not start on Linux and macOS.",
    source=f"{_ENGINE}#1776",
    fix="Pack and unpack with a tool that keeps modes.",
)
def exec_bit_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The program may be executed."""
    program = evidence.files.get(evidence.program)
    windows = evidence.target is not None and evidence.target.os == "win"
    if program is not None and program.kind == "file" and not windows:
        yield Found("the program has no execute bit", evidence.program)


@rule(
    "link-escapes",
    "error",
    why="A link that leaves the bundle points into the build machine, and at nothing elsewhere.",
    source=f"{_ENGINE}#699",
    fix="Copy the file instead of linking to it.",
)
def link_escapes(evidence: BundleEvidence) -> Iterator[Found]:
    """Links stay inside the bundle."""
    for path, link in evidence.links.items():
        if leaves(aim(path, link)):
            yield Found(f"links to {link!r}, outside the bundle", path)


@rule(
    "link-dangling",
    "error",
    why="A link to nothing is a missing file.",
    source=f"{_ENGINE}#699",
    fix="Place the file that it points to.",
)
def link_dangling(evidence: BundleEvidence) -> Iterator[Found]:
    """Links point at something."""
    known = {".", *evidence.files}
    for path in evidence.files:
        known.update(path[:end] for end, each in enumerate(path) if each == "/")
    for path, link in evidence.links.items():
        where = aim(path, link)
        if not leaves(where) and followed(where, evidence.links) not in known:
            yield Found(f"links to {link!r}, which is not there", path)
