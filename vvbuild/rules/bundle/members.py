"""Rules over a bundle: links and modes of its members, and how they are packed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from vvbuild.linking.links import aim, followed, leaves
from vvbuild.model.size import ByteSize
from vvbuild.rules.bundle.wording import together
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_DRIVE = re.compile(r"[A-Za-z]:|\\")
_SPECIAL, _OTHERS_WRITE, _WRITE, _READ, _EXECUTE = 0o7000, 0o002, 0o022, 0o444, 0o111


@rule(
    "exec-bit-missing",
    "error",
    why="A program without its execute bit does not start on Linux and macOS.",
    source=f"{_ENGINE}#1776",
    fix="Pack and unpack with a tool that keeps modes.",
)
def exec_bit_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The program may be executed, except on Windows, which knows no such bit."""
    program = evidence.files.get(evidence.program)
    if program is None or evidence.os == "win":
        return
    if evidence.packed is not None and not evidence.packed.keeps_modes:
        yield Found(
            f"the {evidence.packed.kind} tells no modes, so that the program is unpacked without "
            "its execute bit",
            evidence.program,
        )
    elif program.kind == "file" or not (program.mode or _EXECUTE) & _EXECUTE:
        yield Found("the program has no execute bit", evidence.program)


@rule(
    "mode-unsafe",
    "error",
    why="Where everybody may write to a program, any user of the machine decides what the others "
    "run; a set-user bit gives them its owner's rights.",
    source="VOICEVOX/voicevox#2740",
    fix="Pack programs with mode 755 and all else with 644, by a tool that keeps modes.",
)
def mode_unsafe(evidence: BundleEvidence) -> Iterator[Found]:
    """Only the owner may write, all may read, and no file runs with another's rights."""
    groups: dict[tuple[str, int], list[str]] = {}
    if evidence.os == "win" or (evidence.packed is not None and not evidence.packed.keeps_modes):
        return
    for file in evidence.files.values():
        fault = _fault(file, packed=evidence.packed is not None)
        if fault is not None and file.mode is not None:
            groups.setdefault((fault, file.mode), []).append(file.path)
    for (fault, mode), paths in groups.items():
        yield together(
            paths, f"has mode {mode:04o}: {fault}", f"{{n}} files have mode {mode:04o}: {fault}",
            mode=f"{mode:04o}",
        )  # fmt: skip


@rule(
    "link-escapes",
    "error",
    why="A link that leaves the bundle points into the build machine, and at nothing elsewhere.",
    source=f"{_ENGINE}#699",
    fix="Copy the file instead of linking to it.",
)
def link_escapes(evidence: BundleEvidence) -> Iterator[Found]:
    """Links stay inside the bundle."""
    groups: dict[str, list[str]] = {}
    for path, link in evidence.links.items():
        if leaves(aim(path, link)) or _DRIVE.match(link):
            groups.setdefault(posixpath.dirname(link) or link, []).append(path)
    for folder, paths in groups.items():
        targets = {path: evidence.links[path] for path in sorted(paths)}
        yield together(
            paths,
            f"links to {next(iter(targets.values()))!r}, outside the bundle",
            f"{{n}} links lead to {folder!r}, outside the bundle",
            links=_arrows(targets),
        )


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
    lost: dict[str, str] = {}
    for path, link in evidence.links.items():
        where = aim(path, link)
        escapes = leaves(where) or _DRIVE.match(link)
        if not escapes and followed(where, evidence.links) not in known:
            lost[path] = link
    if lost:
        yield together(
            list(lost),
            f"links to {next(iter(lost.values()))!r}, which is not there",
            "{n} links lead to what is not there",
            links=_arrows(lost),
        )


@rule(
    "list-file-wrong",
    "error",
    why="Who downloads a release takes the parts that its list names, in that order; an editor "
    "that finds two forms of one archive takes either.",
    source=f"{_ENGINE}#595",
    fix="Write the list anew from the parts that are there, and upload all of them.",
)
def list_file_wrong(evidence: BundleEvidence) -> Iterator[Found]:
    """The list beside an archive names all its parts in order, and nothing else."""
    packed = evidence.packed
    if packed is not None and packed.rivals:
        yield together(
            packed.rivals,
            "lies beside the archive, and is the same one in another form",
            "{n} files lie beside the archive, and are the same one in another form",
        )
    if packed is None or packed.listed is None:
        return
    parts = list(packed.parts)
    if not packed.listed:
        yield Found("the list beside the archive is empty")
    elif list(packed.listed) != parts:
        missing = [name for name in parts if name not in packed.listed]
        unknown = [name for name in packed.listed if name not in parts]
        what = f"lacks {', '.join(missing)}" if missing else ""
        also = f"names {', '.join(unknown)}, which is no part of it" if unknown else ""
        words = " and ".join(filter(None, (what, also))) or "names the parts in another order"
        yield Found(f"the list beside the archive {words}")


@rule(
    "size-budget",
    "error",
    why="GitHub refuses a file of 2 GiB, the disks of CI hold a bundle three times at most, and a "
    "library that grew many times over holds what nobody wanted to ship.",
    source=f"{_ENGINE}#627",
    fix="Split into smaller parts, or find what grew: `vvbuild diff` with the last release.",
)
def size_budget(evidence: BundleEvidence) -> Iterator[Found]:
    """Each part can be uploaded, and the bundle and its libraries are as large as is usual."""
    table = evidence.tables.bytes.content
    parts = evidence.packed.parts if evidence.packed is not None else {}
    large = {name: size for name, size in parts.items() if size > table.largest_asset_bytes}
    if large:
        yield together(
            list(large),
            f"has {ByteSize(max(large.values()))}; a release takes up to "
            f"{ByteSize(table.largest_asset_bytes)} as one file",
            f"{{n}} parts are larger than the {ByteSize(table.largest_asset_bytes)} that a release "
            "takes as one file",
        )
    total = sum(file.size for file in evidence.files.values())
    target = str(evidence.target) if evidence.target is not None else ""
    budget = table.budget_of(target)
    if budget is not None and total > ByteSize.parse(budget.bundle):
        yield Found(
            f"the bundle has {ByteSize(total)}, more than {budget.bundle}", severity="warning"
        )
    for share in table.share:
        files = share.chosen(evidence.files)
        size = sum(evidence.files[path].size for path in files)
        if size > ByteSize.parse(share.most):
            yield together(
                files,
                f"{share.what} has {ByteSize(size)}, more than {share.most}",
                f"{share.what} has {ByteSize(size)} in {{n}} files, more than {share.most}",
                severity="warning",
            )


def _arrows(links: Mapping[str, str]) -> str:
    return ", ".join(f"{path} -> {links[path]}" for path in sorted(links))


def _fault(file: FileFacts, *, packed: bool) -> str | None:
    """What is wrong with a mode; on a disk the umask of whoever made it shows, too."""
    mode = file.mode
    if mode is None or file.kind not in ("file", "program"):
        return None
    if mode & _SPECIAL:
        return "it runs with its owner's rights"
    if mode & (_WRITE if packed else _OTHERS_WRITE):
        return "others than its owner may write to it"
    if packed and mode & _READ != _READ:
        return "others than its owner cannot read it"
    return None
