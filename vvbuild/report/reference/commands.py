"""The page of commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vvbuild.report.reference.markdown import anchor, code, page, plain, table

_INTRO = (
    "`vvbuild COMMAND --help` says the same on a terminal, `vvbuild --version` tells the version."
)
_ENVIRONMENT = (
    "An option with a variable can be given in the environment instead, `1` for one that takes no "
    "value; what is typed wins. `VVBUILD_CACHE_DIR` says where the store lies. `NO_COLOR` is "
    "respected."
)


@dataclass(frozen=True, slots=True)
class OptionDoc:
    """An option (or an argument, whose ``spellings`` are its name in capitals).

    ``value`` says what it takes, empty for a flag; ``default`` is empty where there is none;
    ``variable`` is the environment's, ``None`` for what must be typed.
    """

    spellings: tuple[str, ...]
    value: str
    default: str
    variable: str | None
    required: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class CommandDoc:
    """A command: its words (``cache info``), its first sentence, the rest, and examples."""

    name: str
    summary: str
    details: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[OptionDoc, ...]
    options: tuple[OptionDoc, ...]


def commands_page(commands: Sequence[CommandDoc]) -> str:
    """Every command by name; options that all of them have are told once."""
    ordered = sorted(commands, key=lambda each: each.name)
    shared = tuple(
        option
        for option in ordered[0].options
        if all(option in each.options for each in ordered[1:])
    )
    overview = table(
        ("command", "does"),
        (
            (f"[{code(f'vvbuild {each.name}')}](#{_fragment(each)})", plain(each.summary))
            for each in ordered
        ),
    )
    sections = (text for each in ordered for text in _section(each, shared))
    common = ("## Options of every command", _options(shared), _ENVIRONMENT)
    return page("Commands", [_INTRO, overview, *common, *sections])


def _fragment(command: CommandDoc) -> str:
    return anchor(f"vvbuild {command.name}")


def _section(command: CommandDoc, shared: Sequence[OptionDoc]) -> Iterator[str]:
    own = tuple(option for option in command.options if option not in shared)
    yield f"## vvbuild {command.name}"
    yield plain(command.summary)
    yield from map(plain, command.details)
    yield _block(_usage(command, own))
    if command.arguments or own:
        yield _options((*command.arguments, *own))
    if command.examples:
        yield "For example:"
        yield _block("\n".join(command.examples))


def _usage(command: CommandDoc, own: Sequence[OptionDoc]) -> str:
    needed = [
        f"{option.spellings[0]} {option.spellings[0].lstrip('-').upper()}"
        for option in own
        if option.required
    ]
    names = [argument.spellings[0] for argument in command.arguments]
    return " ".join(["vvbuild", command.name, *names, *needed, "[OPTIONS]"])


def _options(options: Sequence[OptionDoc]) -> str:
    return table(
        ("option", "takes", "default", "variable", "meaning"),
        (
            (
                ", ".join(map(code, option.spellings)),
                option.value,
                "required" if option.required else code(option.default),
                code(option.variable or ""),
                plain(option.meaning),
            )
            for option in options
        ),
    )


def _block(text: str) -> str:
    return f"```sh\n{text}\n```"
