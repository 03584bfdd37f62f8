"""The plan of a bundle: which steps, in which order, from which inputs. Nothing runs here."""

from __future__ import annotations

from vvbuild.bootloader.step import BootloaderWanted, PinnedCompiler, add_bootloader
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.steps import assembling, building, components, judging, packing
from vvbuild.fetch.session import Session
from vvbuild.pipeline import artifacts
from vvbuild.pipeline.step import Plan, PlanBuilder


def plan_bundle(inputs: BundleInputs, session: Session) -> Plan:
    """Steps from artifacts to archives for one target."""
    builder = PlanBuilder()
    tools = {
        name: artifacts.add_tool(builder, tool, session) for name, tool in inputs.tools.items()
    }
    sdist = artifacts.add_fetch(builder, inputs.sdist, session)
    brought = {
        name: components.add_component(
            builder, name, files, session, inputs.ways.downloader_for(name)
        )
        for name, files in inputs.ways.components.items()
    }
    engine = building.add_engine(builder, inputs)
    environment = building.add_environment(builder, inputs, engine, tools["uv"], session)
    compiler = inputs.release.row.bootloader
    wanted = BootloaderWanted(
        version=inputs.sdist.version,
        where=inputs.target.platform,
        variants=("release",),
        epoch=inputs.release.epoch,
        compiler=PinnedCompiler(inputs.tools[compiler], tools[compiler]),
    )
    bootloader = add_bootloader(builder, wanted, sdist)
    frozen = building.add_freeze(builder, inputs, engine, environment, bootloader)
    parts = assembling.Parts(engine, environment, bootloader, frozen, brought, tools)
    bundle = assembling.add_assemble(builder, inputs, parts)
    verified = judging.add_verify(builder, inputs, bundle)
    archives = [
        packing.add_archive(builder, inputs, kind, bundle, verified, tools) for kind in inputs.kinds
    ]
    checked = [
        judging.add_verify_archive(builder, inputs, kind, archive, tools)
        for kind, archive in zip(inputs.kinds, archives, strict=True)
    ]
    return builder.plan(*archives, verified, *checked)
