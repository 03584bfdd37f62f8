"""The tables of ``manifests/bytes/`` together."""

from __future__ import annotations

import msgspec

from vvbuild.model.content import ContentTable
from vvbuild.model.loading import LoadingTable, NvidiaTable
from vvbuild.model.runtimes import FloorsTable, RuntimesTable


class BytesTables(msgspec.Struct, frozen=True, kw_only=True):
    """What rules over bytes judge by; a field for each file."""

    content: ContentTable
    floors: FloorsTable
    loading: LoadingTable
    nvidia: NvidiaTable
    runtimes: RuntimesTable
