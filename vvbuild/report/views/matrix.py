"""The view of ``matrix``: a line that GitHub's ``fromJSON`` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from vvbuild.manifest.matrix import MatrixRow
from vvbuild.report.document import Raw, View


def matrix_view(release: str, rows: Sequence[MatrixRow]) -> View:
    """The matrix of ``release``."""
    include = [asdict(row) for row in rows]
    line = json.dumps({"include": include}, separators=(",", ":"))
    # A log's reader takes `##[` for an order; in JSON a number sign may also be written so.
    return View({"release": release, "include": include}, (Raw(line.replace("#", "\\u0023")),))
