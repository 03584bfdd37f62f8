from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild.errors import HostToolMissingError, LockError, ManifestError
from vvbuild.manifest import tools
from vvbuild.manifest.release import find_release, release_names
from vvbuild.manifest.tools import find_tool, pinned_tools, tool_lock, tool_table
from vvbuild.model.target import ARCHES, OSES, Platform

HOSTS = [Platform(os, arch) for os in OSES for arch in ARCHES]
# patchelf changes Linux libraries, and is not made for Windows.
NOT_MADE = {("patchelf", "win")}


def named() -> list[tuple[str, str]]:
    return [(name, version) for name, rows in tool_table().tools.items() for version in rows]


@pytest.mark.parametrize("host", HOSTS, ids=str)
@pytest.mark.parametrize(("name", "version"), named())
def test_every_tool_is_locked_for_every_host(name: str, version: str, host: Platform) -> None:
    if (name, host.os) in NOT_MADE:
        with pytest.raises(HostToolMissingError, match=f"is not made for {host}") as caught:
            find_tool(name, version, host)
        assert caught.value.exit_status == 5
        return
    tool = find_tool(name, version, host)

    assert tool.artifact.size
    assert str(host) in tool.artifact.targets
    assert tool.member.endswith(".exe") == (host.os == "win")
    assert "{" not in tool.member


def test_the_lock_holds_the_tools_of_the_table_and_no_others() -> None:
    assert [item.name for item in tool_lock().artifacts] == [item.name for item in pinned_tools()]


@pytest.mark.parametrize("name", release_names())
def test_the_tools_of_releases_exist(name: str) -> None:
    for tool, version in find_release(name).row.tools.items():
        assert find_tool(tool, version, Platform("linux", "x64")).version == version


def test_an_unknown_tool_names_the_nearest() -> None:
    with pytest.raises(ManifestError, match="There is no tool 'zigg'; did you mean zig\\?"):
        find_tool("zigg", "1", HOSTS[0])


def test_an_unknown_version_names_the_nearest() -> None:
    (version,) = tool_table().tools["zig"]

    with pytest.raises(ManifestError, match=f"did you mean {version}"):
        find_tool("zig", f"{version}9", HOSTS[0])


def test_a_lock_that_lacks_a_tool_says_how_tools_are_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "lock_path", lambda name: tmp_path / "tools.lock.json")

    with pytest.raises(LockError) as caught:
        tools.tool_lock.__wrapped__()
    assert caught.value.hint == "`vvbuild lock --tools` writes it anew."
