"""The view of ``inspect``: what a file is, what a tree holds, who needs whom."""

from __future__ import annotations

from collections import Counter

from vvbuild.binary.gpu_code import GpuCode
from vvbuild.inspect.as_json import FORMATS, inspection_as_json
from vvbuild.inspect.draw import Branch, draw
from vvbuild.inspect.look import Inspection
from vvbuild.linking.edge import Edge
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Block, Line, Pairs, Style, Table, View
from vvbuild.rules.evidence import FileFacts

_SHOWN = 12
_PLACES: dict[str, Style] = {"missing": "bad", "system": "dim", "driver": "dim"}


def inspection_view(inspection: Inspection, *, tree: bool) -> View:
    """What people read, with everything beside as JSON."""
    blocks: tuple[Block, ...]
    if tree:
        blocks = tuple(_branch(each) for each in draw(inspection))
    elif inspection.kind == "file":
        blocks = _of_file(inspection)
    else:
        blocks = _of_tree(inspection)
    return View(inspection_as_json(inspection), blocks)


def _branch(branch: Branch) -> Line:
    if branch.depth == 0:
        return Line(branch.name, "bold")
    place = "" if branch.place.rpartition("/")[2] == branch.name else f" → {branch.place}"
    if branch.place in ("system", "driver", "redistributable", "missing"):
        place = f" ({branch.place})"
    how = "" if branch.how == "load" else f" [{branch.how}]"
    again = " …" if branch.again else ""
    indent = "  " * branch.depth
    return Line(f"{indent}{branch.name}{how}{place}{again}", _PLACES.get(branch.place, ""))


def _of_file(inspection: Inspection) -> tuple[Block, ...]:
    (file,) = inspection.files.values()
    rows = [("file", str(inspection.path)), ("size", f"{file.size:,} bytes")]
    if file.sha256 is not None:
        rows.append(("SHA-256", file.sha256.hex))
    if file.malformed is not None:
        rows.append(("is", "damaged"))
        return (Pairs(tuple(rows)), Line(file.malformed, "bad"))
    if file.binary is None:
        rows.append(("is", "neither a program, nor a library, nor an archive"))
        return (Pairs(tuple(rows)),)
    rows.append(("is", f"{_format(file)} for {' and '.join(file.machines)}"))
    rows += _details(file)
    if file.packed:
        rows.append(("packed", "with UPX"))
    if file.gpu is not None:
        rows += _gpu_rows(file.gpu)
    if inspection.symbols is not None:
        exported = inspection.symbols.exported
        rows.append(("exports", _some(exported) if exported else "nothing"))
    blocks: list[Block] = [Pairs(tuple(rows))]
    needs = tuple((edge.need.name, _how(edge)) for edge in inspection.edges)
    if needs:
        blocks.append(Table(("needs", "which comes"), needs, shrink=0))
    return tuple(blocks)


def _how(edge: Edge) -> str:
    words = {
        "system": "with the system",
        "driver": "with the GPU's driver",
        "redistributable": "with a redistributable",
        "missing": "from elsewhere",
        "elsewhere": "from elsewhere",
        "bundle": "from beside it",
    }[edge.place]
    extra = {"load": "", "versions": ", by its symbols", "delay": ", at the first call",
             "weak": ", if there", "opened": ", opened by name"}[edge.need.how]  # fmt: skip
    return words + extra


def _format(file: FileFacts) -> str:
    assert file.binary is not None
    name = {"elf": "an ELF file", "pe": "a PE file", "macho": "a Mach-O file"}
    return name[FORMATS[type(file.binary)]]


def _details(file: FileFacts) -> list[tuple[str, str]]:
    if file.elf is not None:
        elf = file.elf
        floors = ", ".join(f"{family} {version}" for family, version in elf.floors.items())
        found = [
            ("SONAME", elf.soname or ""),
            ("RUNPATH", ":".join(elf.runpath or elf.rpath)),
            ("needs at least", floors),
        ]
    elif file.pe is not None:
        pe = file.pe
        kind = (
            "a DLL"
            if pe.is_dll
            else {"console": "a console program"}.get(pe.subsystem, "a program without a console")
        )
        found = [
            ("kind", kind),
            ("version", pe.file_version or ""),
            ("called", pe.strings.get("OriginalFilename", "")),
            ("linker", pe.linker),
            ("signed", "yes" if pe.signed else "no"),
        ]
    else:
        assert file.macho is not None
        part = file.macho.slices[0]
        found = [
            ("install name", part.install_name or ""),
            ("rpaths", ":".join(part.rpaths)),
            ("needs at least", f"macOS {part.minimum_macos}" if part.minimum_macos else ""),
            ("signed", "no" if part.signature is None else file.stale or "yes"),
        ]
    return [(name, text) for name, text in found if text]


def _gpu_rows(gpu: GpuCode) -> list[tuple[str, str]]:
    rows = [("GPU code", f"{gpu.containers} containers"), ("machine code", " ".join(gpu.sass))]
    return [*rows, ("compiled when used", " ".join(gpu.ptx) or "none, so no newer GPU")]


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"


def _of_tree(inspection: Inspection) -> tuple[Block, ...]:
    missing: Counter[str] = Counter()
    for edge in inspection.edges:
        if edge.need.hard and edge.place in ("missing", "elsewhere"):
            missing[edge.user] += 1
    binaries = inspection.binaries()
    rows = tuple(_row(file, missing[file.path]) for file in binaries)
    columns = ("file", "size", "for", "needs at least", "GPUs", "lacks")
    # A column that says nothing of any file is left out.
    kept = [0, 1, 2, *(at for at in range(3, 6) if any(row[at] for row in rows))]
    table = Table(
        tuple(columns[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
        right=(1,),
        shrink=0,
    )
    number = len(inspection.files)
    links = sum(file.link is not None for file in inspection.files.values())
    summary = f"{number:,} files, {ByteSize(inspection.size)}, {len(binaries):,} of them "
    summary += "programs and libraries" + (f", {links} links" if links else "")
    blocks: list[Block] = [table] if rows else []
    if inspection.packed is not None and len(inspection.packed.parts) > 1:
        parts = inspection.packed.parts.items()
        sizes = tuple((name, str(ByteSize(size))) for name, size in parts)
        blocks.append(Table(("part", "size"), sizes, right=(1,)))
    head = f"{inspection.path}: {inspection.kind}"
    if inspection.target is not None:
        head += f" for {inspection.target}"
    return (Line(head, "bold"), *blocks, Line(""), Line(summary))


def _row(file: FileFacts, missing: int) -> tuple[str, ...]:
    if file.malformed is not None:
        return (file.path, str(ByteSize(file.size)), "damaged", "", "", "")
    return (
        file.path,
        str(ByteSize(file.size)),
        " ".join(file.machines),
        _floor(file),
        _gpus(file.gpu),
        str(missing) if missing else "",
    )


def _floor(file: FileFacts) -> str:
    if file.elf is not None:
        glibc = file.elf.floors.get("GLIBC")
        return f"glibc {glibc}" if glibc else ""
    if file.macho is not None:
        floor = file.macho.slices[0].minimum_macos
        return f"macOS {floor}" if floor else ""
    return ""


def _gpus(gpu: GpuCode | None) -> str:
    if gpu is None:
        return ""
    sass = gpu.sass
    text = f"{sass[0]}–{sass[-1]}" if len(sass) > 1 else "".join(sass)
    return f"{text} +{gpu.ptx[-1]}" if gpu.ptx else text
