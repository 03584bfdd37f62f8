"""Everything that was seen, as JSON has it."""

from __future__ import annotations

from vvbuild.binary.elf import ElfFacts
from vvbuild.binary.gpu_code import GpuCode
from vvbuild.binary.macho import MachOFacts
from vvbuild.binary.pe import PeFacts
from vvbuild.inspect.look import Inspection
from vvbuild.linking.edge import Edge
from vvbuild.rules.evidence import FileFacts

FORMATS: dict[type, str] = {ElfFacts: "elf", PeFacts: "pe", MachOFacts: "macho"}


def inspection_as_json(inspection: Inspection) -> dict[str, object]:
    """The document of ``inspect --json``."""
    edges: dict[str, list[Edge]] = {}
    for edge in inspection.edges:
        edges.setdefault(edge.user, []).append(edge)
    document: dict[str, object] = {
        "path": str(inspection.path),
        "kind": inspection.kind,
        "target": str(inspection.target) if inspection.target else None,
        "program": inspection.root,
        "bytes": inspection.size,
        "files": [
            _file(file, edges.get(path, [])) for path, file in sorted(inspection.files.items())
        ],
    }
    if inspection.packed is not None:
        document["parts"] = dict(inspection.packed.parts)
    if inspection.symbols is not None:
        document["exported"] = list(inspection.symbols.exported)
        document["undefined"] = list(inspection.symbols.undefined)
    return document


def _file(file: FileFacts, edges: list[Edge]) -> dict[str, object]:
    row: dict[str, object] = {"path": file.path, "kind": file.kind, "size": file.size}
    if file.sha256 is not None:
        row["sha256"] = file.sha256.hex
    if file.mode is not None:
        row["mode"] = f"{file.mode:04o}"
    if file.link is not None:
        row["link"] = file.link
    if file.malformed is not None:
        row["malformed"] = file.malformed
    if file.binary is not None:
        row |= {
            "format": FORMATS[type(file.binary)],
            "machines": list(file.machines),
            "needs": [
                {"name": edge.need.name, "how": edge.need.how, "place": edge.place,
                 "path": edge.path}
                for edge in edges
            ],
            "packed": file.packed,
        }  # fmt: skip
        row |= _of_binary(file)
    if file.gpu is not None:
        row["gpu"] = gpu_as_json(file.gpu)
    return row


def gpu_as_json(gpu: GpuCode) -> dict[str, object]:
    """Architecture → containers, for machine code and for text that drivers compile."""
    return {
        "containers": gpu.containers,
        "sass": gpu.counts("sass"),
        "ptx": gpu.counts("ptx"),
        "lto": gpu.counts("lto"),
        "unknown": gpu.unknown,
    }


def _of_binary(file: FileFacts) -> dict[str, object]:
    if file.elf is not None:
        elf = file.elf
        return {
            "soname": elf.soname,
            "interpreter": elf.interpreter,
            "runpath": list(elf.runpath),
            "rpath": list(elf.rpath),
            "floors": elf.floors,
            "build_id": elf.build_id,
        }
    if file.pe is not None:
        pe = file.pe
        return {
            "subsystem": pe.subsystem,
            "dll": pe.is_dll,
            "file_version": pe.file_version,
            "product_version": pe.product_version,
            "strings": pe.strings,
            "linker": pe.linker,
            "signed": pe.signed,
            "long_path_aware": pe.long_path_aware,
            "timestamp": pe.timestamp,
            "sections": list(pe.sections),
            "delay_imports": [each.dll for each in pe.delay_imports],
        }
    assert file.macho is not None
    return {
        "slices": [
            {
                "machine": part.machine,
                "kind": part.kind,
                "install_name": part.install_name,
                "version": part.version,
                "rpaths": list(part.rpaths),
                "minimum_macos": part.minimum_macos,
                "signed": part.signature is not None,
                "ad_hoc": part.signature is not None and part.signature.ad_hoc,
                "uuid": part.uuid,
            }
            for part in file.macho.slices
        ],
        "signature_problem": file.stale,
    }
