from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundle.archive.bundles import EPOCH
from vvbuild.bundle.archive.names import ArchiveFile
from vvbuild.bundle.archive.write import write_archives
from vvbuild.errors import HostToolMissingError
from vvbuild.model.release import ArchiveKind
from vvbuild.runtime.cancel import Cancel

STEM = "engine-linux-cpu-x64-1.2.3"


def write(
    bundle: Path, kinds: list[ArchiveKind], *, seven_zip: Path | None = None,
    volume_size: int = 1 << 20,
) -> tuple[ArchiveFile, ...]:  # fmt: skip
    out, work = bundle.parent / "out", bundle.parent / "work"
    out.mkdir()
    work.mkdir()
    made = write_archives(
        bundle, out, stem=STEM, top="linux-cpu-x64", kinds=kinds, epoch=EPOCH, work=work,
        volume_size=volume_size, seven_zip=seven_zip, cancel=Cancel(),
    )  # fmt: skip
    assert not list(work.iterdir())
    return made


def test_a_vvpp_comes_with_the_list_of_its_parts(bundle: Path) -> None:
    made = write(bundle, ["vvpp"], volume_size=1000)

    *parts, listing = made
    assert [file.path.name for file in parts] == [
        f"{STEM}.{number + 1:03d}.vvppp" for number in range(len(parts))
    ]
    assert listing.path.name == f"{STEM}.vvpp.txt"
    assert listing.path.read_text().splitlines() == [file.path.name for file in parts]
    assert [file.kind for file in made] == ["vvpp"] * len(parts) + ["list"]
    assert {file.path for file in made} == set((bundle.parent / "out").iterdir())
    for file in made:
        data = file.path.read_bytes()
        assert (file.size, file.sha256.hex) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_7z_without_7_zip_is_refused(bundle: Path) -> None:
    with pytest.raises(HostToolMissingError):
        write(bundle, ["7z"])


@pytest.mark.network
def test_both_kinds_with_their_lists_in_the_order_asked_for(bundle: Path, seven_zip: Path) -> None:
    made = write(bundle, ["7z", "vvpp"], seven_zip=seven_zip)

    assert [(file.path.name, file.kind) for file in made] == [
        (f"{STEM}.7z.001", "7z"),
        (f"{STEM}.7z.txt", "list"),
        (f"{STEM}.vvpp", "vvpp"),
        (f"{STEM}.vvpp.txt", "list"),
    ]


def test_a_disk_that_takes_no_more_is_named_and_leaves_no_part(bundle: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    script = (
        "import resource, signal, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from vvbuild.bundle.archive.write import write_archives\n"
        "from vvbuild.errors import DiskFullError\n"
        "from vvbuild.runtime.cancel import Cancel\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "bundle = Path(sys.argv[1]); out = bundle.parent / 'out'; out.mkdir()\n"
        "try:\n"
        "    write_archives(bundle, out, stem='x', top='t', kinds=['vvpp'], epoch=0,\n"
        "                   work=out, cancel=Cancel())\n"
        "except DiskFullError as error:\n"
        "    print(error.message, list(out.iterdir()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, bundle, Path.cwd()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "Could not write the archives: File too large. []\n"
