"""The pinned 7-Zip, for archives that nothing else reads; fetched when the first one comes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.manifest.targets import host_platform
from vvbuild.manifest.tools import Tool, find_tool, tool_table
from vvbuild.model.events import Emit
from vvbuild.pipeline.artifacts import add_tool
from vvbuild.pipeline.runner import Runner
from vvbuild.pipeline.step import PlanBuilder
from vvbuild.runtime.cancel import Cancel

_NAME = "7zip"


def finder(store: Store, *, offline: bool, emit: Emit, cancel: Cancel) -> Callable[[], Path]:
    """A function that gives the program, and fetches it at most once.

    It raises what fetching raises, and :class:`HostToolMissingError` where there is none for this
    machine.
    """

    @functools.cache
    def find() -> Path:
        tool = newest_seven_zip()
        store.prepare()
        builder = PlanBuilder()
        with Session(offline=offline, cancel=cancel) as session:
            goal = add_tool(builder, tool, session)
            result = Runner(store, emit=emit, cancel=cancel).run(builder.plan(goal))
        return store.checkout(result.made[goal].tree) / tool.member

    return find


def newest_seven_zip() -> Tool:
    """The last version that the table has."""
    *_, version = tool_table().tools[_NAME]
    return find_tool(_NAME, version, host_platform())
