"""GitHub Actions: annotations at lines of files, groups in the log, and the job's summary.

The grammar is that of the runner's workflow commands
(https://docs.github.com/actions/reference/workflow-commands-for-github-actions), the escapes are
those of its toolkit (actions/toolkit, packages/core/src/command.ts).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from vvbuild.errors import VvbuildError
from vvbuild.report.document import Block, Raw, Table, View
from vvbuild.report.grouping import Group, grouped
from vvbuild.report.plain import render
from vvbuild.report.sanitize import clean

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
# GitHub refuses a step's summary above 1 MiB.
_SUMMARY_LIMIT = 1 << 20
_SUMMARY_WIDTH = 100
# A colon and a dot make a link of an address.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$@:.-])")


def annotation_lines(view: View) -> Iterator[str]:
    """A command for each thing that was found, whatever number of targets it concerns."""
    for group in grouped(view.findings):
        yield _annotation(group)


def error_annotation(error: VvbuildError) -> str:
    """The command for a failure."""
    hint = f"\n→ {error.hint}" if error.hint else ""
    return workflow_command("error", f"{error.message}{hint}", title=f"vvbuild: {error.code}")


def workflow_command(name: str, text: str, **properties: object) -> str:
    """A line that the runner obeys; nothing in ``text`` can begin another one."""
    said = ",".join(
        f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None
    )
    return f"::{name}{' ' if said else ''}{said}::{_data(text)}"


def summary(command: str, view: View) -> str:
    """What the job's page shows, in Markdown; empty where there is nothing to tell people."""
    if not view.blocks or any(isinstance(block, Raw) for block in view.blocks):
        return ""
    return "\n".join([f"### vvbuild {_escaped(command)}\n", *_markdown(view.blocks)]) + "\n"


def write_summary(text: str) -> str | None:
    """Append to the step's summary, where the runner asks for one; says why it could not.

    Every command of a step writes to the same file, and GitHub takes all of it or nothing.
    """
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place or not text:
        return None
    # The runner counts bytes as they are in the file, whatever ends its lines.
    content = text.replace("\n", os.linesep).encode("utf-8", "backslashreplace")
    try:
        with Path(place).open("ab") as stream:
            if stream.tell() + len(content) > _SUMMARY_LIMIT:
                return "it would be above GitHub's 1 MiB for a step"
            stream.write(content)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _annotation(group: Group) -> str:
    finding = group.finding
    shown = group.file if group.in_checkout else None
    message = finding.message
    if group.file is not None and shown is None:
        at = group.file if group.line is None else f"{group.file}:{group.line}"
        message = f"{at}: {message}"
    lines = [message, group.where, f"why: {finding.why} ({finding.source})"]
    lines += [f"→ {finding.fix}"] if finding.waived is None else [f"waived: {finding.waived}"]
    return workflow_command(
        "notice" if finding.waived is not None else _LEVELS[finding.severity],
        "\n".join(clean(line) for line in lines if line),
        file=shown,
        line=group.line if shown is not None else None,
        title=f"vvbuild: {finding.rule}",
    )


def _data(text: str) -> str:
    # Each line is made harmless first; then its ends are written as the runner reads them.
    safe = "\n".join(clean(line) for line in text.split("\n"))
    return safe.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return clean(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def _markdown(blocks: Iterable[Block]) -> Iterator[str]:
    """Tables as tables; sentences as they stand, in a fence that none of them can close."""
    sentences: list[Block] = []
    for block in blocks:
        if not isinstance(block, Table):
            sentences.append(block)
            continue
        yield from _fenced(sentences)
        sentences = []
        yield _row(block.columns)
        yield _row("--:" if index in block.right else "---" for index in range(len(block.columns)))
        yield from (_row(map(_escaped, row)) for row in block.rows)
        yield ""
    yield from _fenced(sentences)


def _fenced(blocks: list[Block]) -> Iterator[str]:
    text = render(blocks, _SUMMARY_WIDTH).strip("\n")
    if text:
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield f"{fence}text\n{text}\n{fence}\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", clean(text))
