"""Steps from sources to a frozen program."""

from __future__ import annotations

import sys
from pathlib import Path

from vvbuild.bundle.bootloader import build_bootloader
from vvbuild.bundle.environment import environment_packages, make_environment
from vvbuild.bundle.freeze import freeze
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.steps.artifacts import tool_path
from vvbuild.bundle.wheels import lay_out_wheels
from vvbuild.errors import ManifestError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import copy_file
from vvbuild.manifest.targets import platform_row, program_name
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext


def add_engine(builder: PlanBuilder, inputs: BundleInputs) -> str:
    """Stage the engine's sources."""

    def run(context: StepContext) -> Facts:
        for file in inputs.engine:
            path = context.out / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            copy_file(file.source, path)
            path.chmod(0o644)
        return {}

    files = {file.path: file.digest.hex for file in inputs.engine}
    why = f"engine {inputs.release.row.engine.version}"
    return builder.add("engine", run, parameters={"files": files}, why=why)


def add_environment(
    builder: PlanBuilder, inputs: BundleInputs, engine: str, uv: str, session: Session
) -> str:
    """Install what the engine imports, by hash, for the Python that freezes it."""
    requirements = inputs.release.row.engine.requirements
    locked = {file.path: file.digest.hex for file in inputs.engine}
    if requirements not in locked:
        raise ManifestError(f"The engine has no {requirements!r} to be frozen with.")

    def install(context: StepContext, wheels: Path | None) -> None:
        make_environment(
            uv=tool_path(context, uv, inputs.tools["uv"]),
            python=inputs.python.executable,
            requirements=context.tree(engine) / requirements,
            cache=context.store.base / "uv",
            work=context.work,
            dest=context.out / "site-packages",
            offline=session.offline,
            emit=context.emit,
            cancel=context.cancel,
            wheels=wheels,
        )

    def run(context: StepContext) -> Facts:
        if session.offline:
            text = (context.tree(engine) / requirements).read_text("utf-8")
            shelf = lay_out_wheels(
                context.store, text, inputs.python.version, inputs.host, context.work / "wheels"
            )
            with shelf.telling():
                install(context, shelf.complete)
        else:
            install(context, None)
        packages = environment_packages(context.out / "site-packages")
        return {"packages": [list(package) for package in packages]}

    return builder.add(
        "environment",
        run,
        inputs=(uv, engine),
        parameters={"python": inputs.python_identity.hex, "requirements": locked[requirements]},
        code=("vvbuild.bundle.environment",),
        why=f"Python {inputs.python.version} with the engine's packages",
    )


def add_bootloader(builder: PlanBuilder, inputs: BundleInputs, sdist: str, compiler: str) -> str:
    """Build PyInstaller's bootloader with the extra C files."""
    row = platform_row(inputs.target.platform)
    tool = inputs.tools[inputs.release.row.bootloader]
    if not sdist:
        raise ManifestError(f"The release pins no PyInstaller sdist for {inputs.target}.")

    def run(context: StepContext) -> Facts:
        (archive,) = context.tree(sdist).iterdir()
        build = build_bootloader(
            sdist=archive,
            zig=tool_path(context, compiler, tool),
            zig_target=row.zig,
            waf_target_arch=row.waf_arch,
            extra_sources=[file.source for file in inputs.extra_sources],
            variant="release",
            python=Path(sys.executable),
            work=context.work,
            dest=context.out,
            epoch=inputs.release.epoch,
            cancel=context.cancel,
            emit=context.emit,
        )
        return {
            "file": build.path.name,
            "sha256": build.sha256.hex,
            "text_sha256": build.text.hex if build.text else "",
            "pyinstaller": build.version,
            "platform": build.platform,
            "compiler": f"{tool.name} {tool.version}",
            "compiler_target": row.zig,
        }

    return builder.add(
        "bootloader",
        run,
        inputs=(sdist, compiler),
        parameters={
            "extra": {file.path: file.digest.hex for file in inputs.extra_sources},
            "target": row.zig,
            "waf_arch": row.waf_arch,
            "epoch": inputs.release.epoch,
        },
        code=("vvbuild.bundle.bootloader",),
        why=f"PyInstaller's for {inputs.target.platform}, plus {_c_files(inputs)}",
    )


def add_freeze(
    builder: PlanBuilder, inputs: BundleInputs, engine: str, environment: str, bootloader: str
) -> str:
    """Freeze the engine with PyInstaller and our bootloader."""
    row = inputs.release.row.engine

    def run(context: StepContext) -> Facts:
        built = context.facts(bootloader)
        report = freeze(
            python=inputs.python.executable,
            site_packages=context.tree(environment) / "site-packages",
            engine=context.tree(engine),
            spec=row.spec,
            bootloader=context.tree(bootloader) / str(built["file"]),
            bootloader_version=str(built["pyinstaller"]),
            bootloader_platform=str(built["platform"]),
            work=context.work,
            dest=context.out / "bundle",
            epoch=inputs.release.epoch,
            cancel=context.cancel,
            emit=context.emit,
        )
        return {
            "host_libraries": [
                {"path": item.path, "name": item.source.name, "sha256": item.sha256.hex}
                for item in report.host_libraries
            ]
        }

    return builder.add(
        "freeze",
        run,
        inputs=(engine, environment, bootloader),
        parameters={
            "python": inputs.python_identity.hex,
            "programs": dict(inputs.host_programs),
            "spec": row.spec,
            "epoch": inputs.release.epoch,
        },
        code=("vvbuild.bundle.freeze",),
        why=f"{program_name(row.program, inputs.target.platform)} with PyInstaller",
    )


def _c_files(inputs: BundleInputs) -> str:
    number = len(inputs.extra_sources)
    return f"{number} C file" if number == 1 else f"{number} C files"
