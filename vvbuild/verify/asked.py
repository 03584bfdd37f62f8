"""Names of libraries that a library opens, found in its bytes."""

from __future__ import annotations

import re
from pathlib import Path

from vvbuild.model.loading import LoadingTable

_CHUNK = 1 << 20
# No name is longer; what lies across two chunks is found in the second.
_OVERLAP = 256


def asked_names(path: Path, table: LoadingTable) -> tuple[str, ...]:
    """The names that the file has as strings, where a row says that it opens them by name.

    Few files have such a row: reading all of one costs time.
    """
    patterns = [row.pattern for row in table.asks if row.is_about(path.name)]
    if not patterns:
        return ()
    wanted = re.compile("|".join(f"(?:{each})" for each in patterns).encode())
    found: set[bytes] = set()
    with path.open("rb") as stream:
        rest = b""
        while chunk := stream.read(_CHUNK):
            found.update(match[0] for match in wanted.finditer(rest + chunk))
            rest = chunk[-_OVERLAP:]
    return tuple(sorted(each.decode("ascii", "replace") for each in found))
