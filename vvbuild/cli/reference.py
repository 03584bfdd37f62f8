"""Write ``docs/reference/`` from the code: ``python -m vvbuild.cli.reference DIRECTORY``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from vvbuild import rules
from vvbuild.cli import main as _main  # noqa: F401 - registers the commands
from vvbuild.cli.app import app
from vvbuild.errors import VvbuildError, error_classes
from vvbuild.report.reference import (
    CommandDoc,
    OptionDoc,
    commands_page,
    errors_page,
    manifest_page,
    rules_page,
)
from vvbuild.rules.registry import RULES, Rule

_EXAMPLE = "Example: "


def pages() -> dict[str, str]:
    """The reference pages: file name → Markdown."""
    return {
        "commands.md": commands_page(tuple(documented_commands())),
        "errors.md": errors_page(documented_errors()),
        "manifest.md": manifest_page(),
        "rules.md": rules_page(documented_rules()),
    }


def documented_errors() -> Iterator[type[VvbuildError]]:
    """The errors that people can meet: all of the tree but its root."""
    for each in error_classes():
        if each is not VvbuildError and each.__module__ == "vvbuild.errors":
            yield each


def documented_rules() -> Iterator[Rule]:
    """The rules of every module of ``vvbuild.rules``."""
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
    for each in RULES.values():
        if any(module.startswith(f"{rules.__name__}.") for module in each.modules):
            yield each


def documented_commands() -> Iterator[CommandDoc]:
    """Every registered command that is not hidden, with groups as first words of names."""
    yield from _walk(typer.main.get_command(app), ())


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[CommandDoc]:
    # Typer carries its own copy of click, whose names are private: what it has is asked for.
    below = getattr(command, "commands", None)
    if below is None:
        yield _document(command, " ".join(words))
        return
    for name, each in below.items():
        if not each.hidden:
            yield from _walk(each, (*words, name))


def _document(command: Any, name: str) -> CommandDoc:
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    examples = [part for part in paragraphs if part.startswith(_EXAMPLE)]
    summary, *details = [part for part in paragraphs if part and part not in examples] or [""]
    shown = [each for each in command.params if not each.hidden]
    return CommandDoc(
        name=name,
        summary=summary,
        details=tuple(details),
        examples=tuple(part.removeprefix(_EXAMPLE) for part in examples),
        arguments=tuple(_option(each) for each in shown if each.param_type_name == "argument"),
        options=tuple(_option(each) for each in shown if each.param_type_name == "option"),
    )


def _option(parameter: Any) -> OptionDoc:
    is_argument = parameter.param_type_name == "argument"
    is_flag = getattr(parameter, "is_flag", False)
    has_default = parameter.default is not None and not is_flag
    return OptionDoc(
        spellings=(parameter.name.upper(),) if is_argument else tuple(parameter.opts),
        value="" if is_flag else _value(parameter.type),
        default=str(parameter.default) if has_default else "",
        variable=parameter.envvar,
        required=parameter.required,
        meaning=parameter.help or "",
    )


def _value(kind: Any) -> str:
    """What an option takes, in words."""
    choices = getattr(kind, "choices", None)
    if choices is not None:
        return ", ".join(f"`{choice}`" for choice in choices)
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"at least {least}"
    return "path" if kind.name == "path" else "text"


def write(directory: Path) -> None:
    """Write every page into ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
