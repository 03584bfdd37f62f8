"""Steps from sources to a frozen program."""

from __future__ import annotations

from pathlib import Path

from vvbuild.bootloader.step import bootloader_facts
from vvbuild.bundle.environment import environment_packages, make_environment
from vvbuild.bundle.freeze import freeze
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.wheels import lay_out_wheels
from vvbuild.errors import ManifestError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import copy_file
from vvbuild.manifest.targets import program_name
from vvbuild.pipeline.artifacts import tool_path
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


def add_freeze(
    builder: PlanBuilder, inputs: BundleInputs, engine: str, environment: str, bootloader: str
) -> str:
    """Freeze the engine with PyInstaller and our bootloader."""
    row = inputs.release.row.engine

    def run(context: StepContext) -> Facts:
        built = bootloader_facts(context.facts(bootloader))
        report = freeze(
            python=inputs.python.executable,
            site_packages=context.tree(environment) / "site-packages",
            engine=context.tree(engine),
            spec=row.spec,
            bootloader=context.tree(bootloader) / built.files[0].file,
            bootloader_version=built.pyinstaller,
            bootloader_platform=built.platform,
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
