"""The content-addressed store of files and trees on this machine.

Layout below ``root``, which carries a format version so that an older vvbuild never reads
what it does not understand::

    CACHEDIR.TAG
    v1/files/ab/<sha256>[.x]     read-only, one fixed time; `.x` has execute bits
    v1/trees/ab/<digest>.json    lists of (path, kind, digest, size); its time is its last use
    v1/records/ab/<key>.json     what a step with that key made
    v1/checkouts/<tree>/         whole trees as read-only directories of hard links
    v1/seen/ab/<name>            which inodes were right when they were last looked at
    v1/locks/  v1/users/         locks, and one for each process that works with the store
    v1/work/<name>/              scratch of running processes, swept when they are gone
    v1/partial/  v1/uv/          unfinished downloads; uv's own cache

Everything enters by one rename, so a process that dies leaves nothing that is trusted.
"""

from __future__ import annotations

from vvbuild.fetch.store.copying import copy_file, link_or_copy, walk
from vvbuild.fetch.store.core import Store
from vvbuild.fetch.store.place import FIXED_TIME, FORMAT, default_root

__all__ = ["FIXED_TIME", "FORMAT", "Store", "copy_file", "default_root", "link_or_copy", "walk"]
