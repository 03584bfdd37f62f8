"""The step that builds a bootloader, the same for a bundle and for ``bootloader build``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vvbuild.bootloader.build import BuiltFile, Variant, build_bootloader
from vvbuild.bootloader.compilers import Compiler, zig_compiler
from vvbuild.manifest.bootloader import extra_sources, hint_values, patches_for
from vvbuild.manifest.targets import platform_row
from vvbuild.manifest.tools import Tool
from vvbuild.model.target import Platform
from vvbuild.pipeline.artifacts import tool_path
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext
from vvbuild.runtime.files import hash_file


@dataclass(frozen=True, slots=True)
class PinnedCompiler:
    """zig as an artifact; ``step`` brings it."""

    tool: Tool
    step: str


@dataclass(frozen=True, slots=True)
class BootloaderWanted:
    """Which bootloader: of which PyInstaller, for where, by which compiler.

    ``epoch`` (seconds) is the time that a Windows program carries.
    """

    version: str
    where: Platform
    variants: tuple[Variant, ...]
    epoch: int
    compiler: PinnedCompiler | Compiler


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One built program, as steps remember it. ``text_sha256`` is known for ELF files only."""

    variant: Variant
    file: str
    sha256: str
    size: int
    machine: str
    exports: dict[str, int]
    text_sha256: str


class BootloaderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the step tells: ``platform`` is the folder where PyInstaller looks for the files."""

    pyinstaller: str
    platform: str
    compiler: dict[str, str]
    files: list[FileFacts]

    def recorded(self) -> dict[str, object]:
        """What ``vvbuild.json`` says of the one program in a bundle."""
        (file,) = self.files
        return {
            "file": file.file,
            "sha256": file.sha256,
            "text_sha256": file.text_sha256,
            "exports": file.exports,
            "pyinstaller": self.pyinstaller,
            "platform": self.platform,
            "compiler": self.compiler,
        }


def bootloader_facts(facts: Facts) -> BootloaderFacts:
    """What the step told, with types."""
    return msgspec.convert(dict(facts), BootloaderFacts)


def add_bootloader(builder: PlanBuilder, wanted: BootloaderWanted, sdist: str) -> str:
    """Build PyInstaller's bootloader with the extra C files; ``sdist`` brings its sources."""
    sources, patches = extra_sources(), patches_for(wanted.version)
    row = platform_row(wanted.where)

    def run(context: StepContext) -> Facts:
        (archive,) = context.tree(sdist).iterdir()
        compiler = _compiler(context, wanted)
        build = build_bootloader(
            sdist=archive,
            version=wanted.version,
            where=wanted.where,
            compiler=compiler,
            extra_sources=sources,
            hints=hint_values(),
            variants=wanted.variants,
            patches=patches,
            python=Path(sys.executable),
            work=context.work,
            dest=context.out,
            epoch=wanted.epoch,
            cancel=context.cancel,
            emit=context.emit,
        )
        facts = BootloaderFacts(
            pyinstaller=build.version,
            platform=build.platform,
            compiler=dict(compiler.identity),
            files=[_facts(file) for file in build.files],
        )
        told: dict[str, Any] = msgspec.to_builtins(facts)
        return told

    pinned = wanted.compiler if isinstance(wanted.compiler, PinnedCompiler) else None
    own = wanted.compiler if isinstance(wanted.compiler, Compiler) else None
    parameters: Mapping[str, object] = {
        "version": wanted.version,
        "variants": list(wanted.variants),
        "extra": {path.name: hash_file(path).hex for path in sources},
        "patches": {patch.path.name: hash_file(patch.path).hex for patch in patches},
        "hints": hint_values(),
        "target": row.zig,
        "waf_arch": row.waf_arch,
        "epoch": wanted.epoch,
        "compiler": dict(own.identity) if own else None,
    }
    number = len(sources)
    return builder.add(
        "bootloader",
        run,
        inputs=(sdist, pinned.step) if pinned else (sdist,),
        parameters=parameters,
        code=("vvbuild.bootloader.build",),
        why=f"PyInstaller's for {wanted.where}, plus {number} C file{'' if number == 1 else 's'}",
    )


def _compiler(context: StepContext, wanted: BootloaderWanted) -> Compiler:
    if isinstance(wanted.compiler, Compiler):
        return wanted.compiler
    tool = wanted.compiler.tool
    identity = {
        "name": tool.name,
        "version": tool.version,
        "package_sha256": tool.artifact.sha256.hex,
    }
    return zig_compiler(tool_path(context, wanted.compiler.step, tool), wanted.where, identity)


def _facts(file: BuiltFile) -> FileFacts:
    return FileFacts(
        variant=file.variant,
        file=file.path.name,
        sha256=file.sha256.hex,
        size=int(file.size),
        machine=file.machine,
        exports=dict(file.exports),
        text_sha256=file.text.hex if file.text else "",
    )
