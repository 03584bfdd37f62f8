"""Rules over a bundle: names of files, as every system takes them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from vvbuild.model.content import PathsRow
from vvbuild.rules.bundle.wording import listed, together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)


@rule(
    "path-too-long",
    "error",
    why="A path that is longer than the system takes is left out, or ends the unpacking; the "
    "editor unpacks below a folder that is long already.",
    source="https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation",
    fix="Shorten the folders of what is named, or leave it out.",
)
def path_too_long(evidence: BundleEvidence) -> Iterator[Found]:
    """Every path and name fits where the editor unpacks the bundle."""
    row = evidence.tables.bytes.content.paths_of(evidence.os) if evidence.os else None
    if row is None:
        return
    room = row.longest_path - _length(_folder(row, evidence), row)
    names = [path for path in evidence.files if _longest_name(path, row) > row.longest_name]
    paths = [path for path in evidence.files if _length(path, row) > room and path not in names]
    if names:
        one = f"has a name longer than {row.longest_name} {_units(row)}"
        yield together(names, one, f"{{n}} files have a name longer than {row.longest_name}")
    if paths:
        longest = max(_length(path, row) for path in paths)
        yield together(
            paths,
            f"is {longest} {_units(row)} long, and where the editor unpacks it there is room for "
            f"{room}",
            f"{{n}} paths are up to {longest} {_units(row)} long, and where the editor unpacks "
            f"them there is room for {room}",
            room=str(room),
        )


@rule(
    "name-encoding",
    "error",
    why="A name that its archive does not mark as UTF-8 is garbled on Windows; one that another "
    "system refuses, or takes for a second one, is lost there.",
    source="mozilla/send#1432",
    fix="Rename the file; pack with a tool that writes names in UTF-8 and says so.",
)
def name_encoding(evidence: BundleEvidence) -> Iterator[Found]:
    """Names are the same, and possible, on the bundle's system and in its archive."""
    unmarked = evidence.packed.unmarked_names if evidence.packed is not None else ()
    if unmarked:
        yield together(
            unmarked,
            "has a name that the archive does not mark as UTF-8",
            "{n} names are not marked as UTF-8 by the archive",
        )
    for words, paths in _odd(evidence).items():
        yield together(paths, words, f"{{n}} names: each {words}")
    yield from _alike(evidence)


def _odd(evidence: BundleEvidence) -> dict[str, list[str]]:
    """What is wrong with names → the paths."""
    row = evidence.tables.bytes.content.paths_of(evidence.os) if evidence.os else None
    groups: dict[str, list[str]] = {}
    for path in evidence.files:
        words = _not_text(path) or (_refused(path, row) if row is not None else None)
        if words is not None:
            groups.setdefault(words, []).append(path)
    return groups


def _not_text(path: str) -> str | None:
    if any("\ud800" <= each <= "\udfff" for each in path):
        return "is not UTF-8"
    if not path.isascii() and not unicodedata.is_normalized("NFC", path):
        return "has letters in pieces (not in Unicode's form NFC), as macOS writes them"
    if any(ord(each) < 32 or ord(each) == 127 for each in path):
        return "holds a control character"
    return None


def _refused(path: str, row: PathsRow) -> str | None:
    for part in path.split("/"):
        held = sorted(set(part) & set(row.characters))
        if held:
            return f"holds {' '.join(held)}, which {_CALLED[row.os]} refuses"
        if part.partition(".")[0].rstrip(" ").lower() in row.reserved:
            return f"is a device's on {_CALLED[row.os]}"
        if row.ends and part.endswith(tuple(row.ends)):
            return f"ends with a dot or a space, which {_CALLED[row.os]} drops"
    return None


def _alike(evidence: BundleEvidence) -> Iterator[Found]:
    row = evidence.tables.bytes.content.paths_of(evidence.os) if evidence.os else None
    if row is None or not row.ignores_case:
        return
    groups: dict[str, set[str]] = {}
    folders = {path.rpartition("/")[0] for path in evidence.files}
    above = {
        "/".join(each.split("/")[: n + 1]) for each in folders for n in range(each.count("/") + 1)
    }
    for path in {*evidence.files, *above} - {""}:
        groups.setdefault(path.casefold(), set()).add(path)
    for spellings in groups.values():
        # Of two folders only the folders are told, not everything in them.
        if len(spellings) > 1 and len({each.rpartition("/")[0] for each in spellings}) == 1:
            yield Found(
                f"{listed(spellings)} are one name on {_CALLED[row.os]}",
                min(spellings),
                {"files": listed(spellings)},
            )


def _folder(row: PathsRow, evidence: BundleEvidence) -> str:
    """Where the editor puts it, see its ``vvppManager.ts``."""
    manifest = evidence.manifest.data or {}
    name, uuid = (str(manifest.get(key, "")) for key in ("name", "uuid"))
    return row.folder.replace("{name}", name).replace("{uuid}", uuid)


def _longest_name(path: str, row: PathsRow) -> int:
    return max(_length(part, row) for part in path.split("/"))


def _length(text: str, row: PathsRow) -> int:
    if row.counts == "bytes":
        return len(text.encode("utf-8", "surrogateescape"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _units(row: PathsRow) -> str:
    return "bytes" if row.counts == "bytes" else "characters"


_CALLED = {"win": "Windows", "macos": "macOS", "linux": "Linux"}
