"""The store on a machine whose clock is wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vvbuild.fetch.store import Store
from vvbuild.fetch.store.verify import verify_store
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

_PROGRAM = """
import sys, time
from pathlib import Path
from vvbuild.fetch.store import Store
from vvbuild.fetch.store.prune import prune
from vvbuild.model.digest import Digest
store, data = Store(Path(sys.argv[1])), sys.argv[2].encode()
assert time.gmtime().tm_year == int(sys.argv[3])
store.prepare()
with store.scratch() as scratch:
    (scratch / "new").write_bytes(data)
    store.add_file(scratch / "new", Digest.of_bytes(data))
assert store.verified_file(Digest.of_bytes(data)).read_bytes() == data
prune(store, older_than=None, max_size=1 << 30, dry_run=False)
"""


@pytest.mark.skipif(shutil.which("faketime") is None, reason="needs faketime")
def test_what_was_kept_in_1980_is_good_today_and_the_other_way_round(tmp_path: Path) -> None:
    def run(data: str, year: int) -> None:
        subprocess.run(
            ["faketime", f"{year}-01-02 03:04:05", sys.executable, "-c", _PROGRAM,
             tmp_path, data, str(year)],
            check=True, timeout=120,
        )  # fmt: skip

    for year, data in ((1980, "old"), (2031, "future"), (1980, "old again"), (2026, "now")):
        run(data, year)

    store = Store(tmp_path)
    for data in ("old", "future", "old again", "now"):
        assert store.verified_file(Digest.of_bytes(data.encode())).read_bytes() == data.encode()
    assert verify_store(store, cancel=Cancel()).faults == ()
