"""Views of bootloaders: what was built, what a program proves, what a PC's drivers do."""

from __future__ import annotations

from vvbuild.bootloader.probe import ProbeResult
from vvbuild.bootloader.run import BootloaderResult
from vvbuild.bootloader.verify import Proof
from vvbuild.model.finding import worst
from vvbuild.report.document import Block, Line, Pairs, Reported, Table, View
from vvbuild.report.views.findings import finding_blocks
from vvbuild.verify.report import finding_as_json


def built_view(result: BootloaderResult) -> View:
    """The programs, with what they export."""
    facts = result.facts
    files = list(zip(result.paths, facts.files, strict=True))
    data: dict[str, object] = {
        "platform": str(result.where),
        "pyinstaller": facts.pyinstaller,
        "folder": facts.platform,
        "compiler": facts.compiler,
        "files": [
            {
                "path": str(path),
                "variant": file.variant,
                "sha256": file.sha256,
                "size": file.size,
                "machine": file.machine,
                "exports": file.exports,
            }
            for path, file in files
        ],
        "steps": [
            {"name": each.name, "key": each.key.hex, "cached": each.cached,
             "seconds": round(each.seconds, 3)}
            for each in result.steps
        ],
    }  # fmt: skip
    version = facts.compiler.get("version", "")
    blocks: list[Block] = [
        Line(
            f"Bootloader of PyInstaller {facts.pyinstaller} for {result.where}, "
            f"by {facts.compiler['name']} {version}".rstrip(),
            "bold",
        )
    ]
    for path, file in files:
        rows = [
            ("program", str(path)),
            ("size", f"{file.size:,} bytes, {file.machine}"),
            ("SHA-256", file.sha256),
        ]
        if result.where.os == "win":
            told = ", ".join(f"{name} = {value}" for name, value in file.exports.items())
            rows.append(("exports", told))
        blocks.append(Pairs(tuple(rows)))
    if result.where.os == "win":
        blocks.append(Line("Drivers are asked for the strong GPU.", "good"))
    return View(data, tuple(blocks))


def proof_view(proof: Proof) -> View:
    """What a program's bytes prove."""
    program, failed = proof.program, worst(proof.findings) == "error"
    data: dict[str, object] = {
        "path": str(program.path),
        "sha256": program.sha256.hex,
        "size": int(program.size),
        "os": program.os,
        "machine": program.machine,
        "subsystem": program.subsystem,
        "exports": dict(program.exports or {}),
        "bootloader_of": program.pyinstaller,
        "pyinstaller": proof.pyinstaller,
        "packed": program.packed,
        "hints": [
            {"name": hint.row.name, "value": hint.value, "vendor": hint.row.vendor,
             "affects": hint.row.affects, "effect": hint.effect, "source": hint.row.source}
            for hint in proof.hints
        ],
        "findings": [finding_as_json(finding) for finding in proof.findings],
    }  # fmt: skip
    about = [
        ("program", str(program.path)),
        ("is", f"{program.os}, {program.kind}" if program.os else program.reason),
        ("SHA-256", program.sha256.hex),
    ]
    if program.os == "win":
        told = f"of PyInstaller {program.pyinstaller}" if program.pyinstaller else "not ours"
        about.append(("bootloader", told))
    blocks: list[Block] = [Pairs(tuple(about))]
    if proof.hints:
        rows = tuple(
            (hint.row.vendor, "-" if hint.value is None else str(hint.value), hint.effect)
            for hint in proof.hints
        )
        blocks.append(Table(("driver", "value", "what the program says to it"), rows, shrink=2))
        blocks += [Line(f"{hint.row.vendor}: {hint.row.affects}.", "dim") for hint in proof.hints]
        blocks.append(
            Line("This decides for DirectX, and so for DirectML. CUDA counts by itself.", "dim")
        )
    elif program.os is not None:
        blocks.append(Line("The hints are for Windows; nothing is expected here.", "dim"))
    blocks += finding_blocks(proof.findings)
    if not failed:
        blocks.append(Line("Everything is as it should be.", "good"))
    found = tuple(Reported(finding, file=finding.path) for finding in proof.findings)
    return View(data, tuple(blocks), status=1 if failed else 0, findings=found)


def probe_view(result: ProbeResult) -> View:
    """The GPUs as each program saw them, or where the programs lie."""
    data: dict[str, object] = {
        "changed": result.changed,
        "probes": [
            {
                "path": str(probe.path),
                "hinted": probe.hinted,
                "adapters": None
                if probe.adapters is None
                else [
                    {"index": each.index, "memory_mib": each.memory, "vendor": each.vendor,
                     "name": each.name}
                    for each in probe.adapters
                ],
            }
            for probe in result.probes
        ],
    }  # fmt: skip
    blocks: list[Block] = []
    for probe in result.probes:
        words = "with the hints" if probe.hinted else "without"
        if probe.adapters is None:
            blocks.append(Line(f"{words}: {probe.path}"))
            continue
        rows = tuple(
            (str(each.index), each.vendor, f"{each.memory:,} MiB", each.name)
            for each in probe.adapters
        )
        blocks += [Line(words, "bold"), Table(("", "vendor", "memory", "GPU"), rows, (0, 2), 3)]
    if result.changed is None:
        blocks.append(Line("Run both on a PC with two GPUs and compare which one comes first."))
    elif result.changed:
        blocks.append(Line("The hints put another GPU first.", "good"))
    else:
        blocks.append(Line("The same GPU comes first with and without the hints."))
    return View(data, tuple(blocks))
