"""The table of downloaders: every core that a release pins, and mistakes named with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild import resources
from vvbuild.errors import HostToolMissingError, ManifestError, MissingError
from vvbuild.manifest.downloader import downloader_table, find_contract, load_downloaders
from vvbuild.manifest.release import find_release, release_names
from vvbuild.manifest.targets import target_table
from vvbuild.model.target import Platform
from vvbuild.model.version import within

# Every core that came with a downloader (facts of the seven contracts that were read).
CORES = {
    "0.14.0": "flat", "0.14.1": "flat", "0.14.6": "flat", "0.15.0": "flat", "0.15.9": "flat",
    "0.16.0": "first", "0.16.1": "tries", "0.16.2": "tries", "0.16.3": "tries",
    "0.16.4": "tries", "0.17.0": "semver",
}  # fmt: skip
HOSTS = ("win-x64", "linux-x64", "linux-arm64", "macos-x64", "macos-arm64")


@pytest.mark.parametrize(("core", "generation"), CORES.items())
def test_every_core_has_one_contract(core: str, generation: str) -> None:
    rows = [row for row in downloader_table().core if within(core, row.versions)]

    assert [row.generation for row in rows] == [generation]
    assert find_contract(core).generation is downloader_table().generation[generation]


@pytest.mark.parametrize("core", CORES)
def test_every_host_has_a_program_by_the_core_s_spelling(core: str) -> None:
    contract, table = find_contract(core), target_table()
    for host in map(Platform.parse, HOSTS):
        arch = table.arch[host.arch].core
        if core == "0.14.0" and arch == "arm64":
            arch = "aarch64"
        suffix = table.os[host.os].program_suffix
        assert contract.executable(host) == f"download-{table.os[host.os].core}-{arch}{suffix}"


def test_a_host_without_a_program_is_told_the_other_way() -> None:
    with pytest.raises(HostToolMissingError) as caught:
        find_contract("0.17.0").executable(Platform("win", "arm64"))

    assert "--fetcher direct" in str(caught.value.hint)


def test_every_release_that_pins_a_downloader_has_a_contract() -> None:
    components = [find_release(name).row.components for name in release_names()]
    pinned = {each["downloader"].version for each in components if "downloader" in each}

    assert pinned
    for version in pinned:
        assert find_contract(version).core.source


@pytest.mark.parametrize("core", ["0.13.0", "0.18.0", "nonsense"])
def test_other_cores_have_none(core: str) -> None:
    with pytest.raises(MissingError):
        find_contract(core)


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = resources.manifest_file("downloader.toml").read_text()
    assert old in text
    path = tmp_path / "downloader.toml"
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('versions = ">=0.17,<0.18"', 'versions = ">=0.16.4,<0.18"', "overlaps with the range of"),
        ('versions = ">=0.17,<0.18"', 'versions = "0.17"', "expected a range"),
        ('generation = "semver"', 'generation = "bare"', "expected one of flat, first"),
        ("linux-x64 =", "linux-mips =", "linux-mips: expected {win|macos|linux}"),
        ("'rate.?limit'", "'rate.(limit'", "not a regular expression"),
        ('"voicevox_onnxruntime-{version}"', '"voicevox_onnxruntime"', "expected {version} in it"),
        ('tells = ["additional-libraries"]', 'tells = ["cuda"]', "'cuda' is not among the parts"),
        ('retries = "none"', 'retries = "some"', "unknown value 'some'"),
        ('output = "--output"', 'putout = "--output"', "unknown key 'putout'"),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        load_downloaders(changed(tmp_path, old, new))

    assert complaint in caught.value.message
    assert "downloader.toml:" in caught.value.message
