"""The programs that vvbuild runs, as locked artifacts."""

from __future__ import annotations

from dataclasses import dataclass

from vvbuild import resources
from vvbuild.errors import HostToolMissingError, ManifestError
from vvbuild.manifest.decode import decode, no_such, read_document
from vvbuild.manifest.lock import load_lock, lock_path
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.manifest.targets import program_name
from vvbuild.model.artifact import Artifact, check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock
from vvbuild.model.reference import Reference
from vvbuild.model.tables import Tools, ToolVersion
from vvbuild.model.target import Platform

LOCK_NAME = "tools"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program for this host: the package to fetch, and where in it the program is."""

    name: str
    version: str
    artifact: Artifact
    member: str


@resources.cached
def tool_table() -> Tools:
    """``tools.toml``."""
    return decode(read_document(resources.manifest_file("tools.toml")), Tools)


def pinned_tools() -> tuple[PinnedArtifact, ...]:
    """Every file of every tool; hosts stand where a release's artifacts have targets."""
    hosts: dict[str, list[str]] = {}
    rows: dict[str, PinnedArtifact] = {}
    for name, versions in tool_table().tools.items():
        for version, row in versions.items():
            for host, text in row.references.items():
                reference = Reference.parse(text.replace("{version}", version))
                file = check_file_name(reference.file)
                hosts.setdefault(file, []).append(str(Platform.parse(host)))
                rows[file] = PinnedArtifact(
                    file, name, version, (reference,), tuple(hosts[file]), None, row.licence
                )
    return tuple(rows.values())


def tools_digest() -> Digest:
    """Digest of what the tools' lock must name."""
    return Digest.of_json(
        [
            [item.name, item.component, item.version, str(item.references[0]), item.targets]
            for item in pinned_tools()
        ]
    )


@resources.cached
def tool_lock() -> Lock:
    """The lock of all tools for all hosts."""
    return load_lock(
        lock_path(LOCK_NAME),
        expected=tools_digest(),
        release=LOCK_NAME,
        pinned=pinned_tools(),
        hint="`vvbuild lock --tools` writes it anew.",
    )


def find_tool(name: str, version: str, host: Platform) -> Tool:
    """The tool of that version for ``host``.

    Raises :class:`ManifestError` for a name or version that the table lacks and
    :class:`HostToolMissingError` where it is not made for this host.
    """
    row = _find_row(name, version)
    for artifact in tool_lock().artifacts:
        same = (artifact.component, artifact.version) == (name, version)
        if same and str(host) in artifact.targets:
            member = program_name(row.member.replace("{version}", version), host)
            return Tool(name, version, artifact, member)
    raise HostToolMissingError(
        f"{name} {version} is not made for {host}.",
        context={"hosts": ", ".join(row.references)},
        hint="Run this on one of those hosts.",
    )


def _find_row(name: str, version: str) -> ToolVersion:
    tools = tool_table().tools
    if name not in tools:
        raise ManifestError(no_such("tool", name, tools))
    if version not in tools[name]:
        raise ManifestError(no_such(f"version of {name}", version, tools[name]))
    return tools[name][version]
