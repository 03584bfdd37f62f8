"""Bundles on disk, of files whose every byte the test has chosen, read as ``verify`` reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import vvbuild.rules.bundle  # noqa: F401 - registers the rules
from tests.makers.elf import elf_bytes
from tests.makers.macho import macho_bytes
from tests.makers.pe import pe_bytes
from tests.makers.vvm import vvm_bytes
from tests.rules.bundle.good import MANIFEST, PAPERS
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import judge
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.facts import gather_facts

Files = Mapping[str, bytes | None]

_HINTS = {"NvOptimusEnablement": 1, "AmdPowerXpressRequestHighPerformance": 1}
_LIBC = ["libc.so.6"]


def program(target: str) -> dict[str, bytes]:
    """The program that starts, as our bootloader is."""
    os, arch, _ = target.split("-")
    if os == "win":
        imports = {"KERNEL32.dll": ["Sleep"]}
        return {"run.exe": pe_bytes(machine=arch, imports=imports, values=_HINTS)}
    if os == "macos":
        return {"run": macho_bytes(cpu=arch, kind="execute", signature="adhoc")}
    loader = "/lib64/ld-linux-x86-64.so.2"
    text = {".text": b"\xc3"}
    return {"run": elf_bytes(machine=arch, interpreter=loader, needed=_LIBC, sections=text)}


def onnxruntime(target: str, version: str = "1.23.2") -> dict[str, bytes]:
    """ONNX Runtime for a target's device, with what it needs for that but CUDA."""
    os, arch, device = target.split("-")
    if os == "win":
        return _for_windows(arch, device, version)
    if os == "macos":
        name = f"@rpath/libonnxruntime.{version}.dylib"
        system = ["/usr/lib/libSystem.B.dylib"]
        data = macho_bytes(cpu=arch, install_name=name, exports=["OrtGetApiBase"],
                           dependencies=system, signature="adhoc")  # fmt: skip
        return {"libonnxruntime.dylib": data}
    data = elf_bytes(machine=arch, soname=f"libonnxruntime.so.{version}", needed=_LIBC,
                     runpath="$ORIGIN", exports=["OrtGetApiBase"])  # fmt: skip
    providers = ["shared", "cuda"] if device == "cuda" else []
    return {"libonnxruntime.so": data} | {
        f"libonnxruntime_providers_{each}.so": elf_bytes(machine=arch, needed=_LIBC)
        for each in providers
    }


def _for_windows(arch: str, device: str, version: str) -> dict[str, bytes]:
    def library(name: str, number: str = f"{version}.0", **facts: object) -> bytes:
        return pe_bytes(
            machine=arch, dll=True, imports=["KERNEL32.dll"], library=name, version=number,
            **facts,  # type: ignore[arg-type]
        )  # fmt: skip

    delayed = ["DirectML.dll"] if device == "directml" else []
    files = {
        "onnxruntime.dll": library(
            "onnxruntime.dll", exports=["OrtGetApiBase"], delay_imports=delayed
        )
    }
    if device == "directml":
        files["DirectML.dll"] = library("DirectML.dll", "1.15.4.0")
    for each in ("shared", "cuda") if device == "cuda" else ():
        name = f"onnxruntime_providers_{each}.dll"
        files[name] = library(name, exports=["Provider_GetHost"])
    return files


def tree(folder: Path, files: Files | None = None, *, target: str = "linux-x64-cpu") -> Path:
    """Write a bundle: a good one with ``files`` added, changed, or (``None``) left out."""
    run = next(iter(program(target)))
    good = {
        **program(target),
        **onnxruntime(target),
        **PAPERS,
        "model/0.vvm": vvm_bytes(),
        "engine_manifest.json": json.dumps({**MANIFEST, "command": run}).encode(),
    }
    for path, data in {**good, **(files or {})}.items():
        if data is None:
            continue
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        if path == run or place.suffix == ".so":
            place.chmod(0o755)
    return folder


def evidence_of(folder: Path, *, target: str = "linux-x64-cpu") -> BundleEvidence:
    """What rules look at, gathered from the bytes."""
    return gather_facts(folder, Target.parse(target), Cancel())


def judged(folder: Path, *, target: str = "linux-x64-cpu") -> list[Finding]:
    """What the rules say of it, but that it has no ``vvbuild.json``."""
    findings = judge(evidence_of(folder, target=target))
    return [each for each in findings if each.rule != "description-missing"]


def only(folder: Path, rule: str, *, target: str = "linux-x64-cpu") -> Finding:
    """The finding of ``rule``, which must be alone."""
    findings = judged(folder, target=target)
    assert [each.rule for each in findings] == [rule]
    return findings[0]
