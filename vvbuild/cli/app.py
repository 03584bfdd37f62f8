"""The Typer application, and the frame around every command."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeVar

import typer

from vvbuild import resources
from vvbuild.cli.ui import Format, Ui
from vvbuild.errors import CancelledError, InternalError, UsageError, VvbuildError, from_os_error
from vvbuild.report.document import View

CommandT = TypeVar("CommandT", bound=Callable[..., View])

# Rich's help costs a second interpreter's start; plain help says the same (measured 3.3 to 0.8).
app = typer.Typer(
    name="vvbuild",
    help="Build and release VOICEVOX ENGINE bundles from verified, pinned parts.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

# Options that lower safety must be typed, never inherited from an environment.
_NEVER_FROM_ENVIRONMENT = {
    "accept_drift", "accept_terms", "allow_unlocked", "allow_python_mismatch", "all", "write",
}  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
How = Annotated[Format, typer.Option("--format", help="How to show results.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only failures.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Also what was already done.")]
Manifests = Annotated[
    Path | None,
    typer.Option("--manifests", help="Own manifests and locks, laid over the packaged ones."),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour.")]

_SHARED_OPTIONS = (
    inspect.Parameter(
        "manifests", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Manifests
    ),
    inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json),
    inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default="auto", annotation=How),
    inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet),
    inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Verbose),
    inspect.Parameter(
        "no_color", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=NoColor
    ),
)


def command(
    name: str,
    *,
    group: typer.Typer | None = None,
    full_name: str | None = None,
    judges: bool = False,
) -> Callable[[CommandT], CommandT]:
    """Register a function ``(ui, …) -> View`` as a command with the options that all share.

    The first line of its docstring is the summary; examples stand below. Each option can also
    be given as ``VVBUILD_<OPTION>``. Only a command that ``judges``, whose view holds findings,
    takes ``--format sarif``.
    """
    if judges:
        _JUDGES.append(full_name or name)

    def register(function: CommandT) -> CommandT:
        signature = inspect.signature(function, eval_str=True)
        parameters = [*list(signature.parameters.values())[1:], *_SHARED_OPTIONS]
        for parameter in parameters:
            _allow_environment(parameter)

        def run(**options: Any) -> int:
            how: Format = "json" if options.pop("json") else options.pop("format")
            options.pop("format", None)
            ui = Ui(
                full_name or name,
                how=how,
                quiet=options.pop("quiet"),
                verbose=options.pop("verbose"),
                color=not options.pop("no_color"),
            )
            manifests = options.pop("manifests")

            def work() -> View:
                if ui.format == "sarif" and not judges:
                    raise _no_sarif(ui.command)
                resources.lay_over(manifests)
                return function(ui, **options)

            return guarded(ui, work)

        keyword = inspect.Parameter.KEYWORD_ONLY
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each.replace(kind=keyword) for each in parameters], return_annotation=int
        )
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = inspect.getdoc(function)
        (group or app).command(name)(run)
        return function

    return register


_JUDGES: list[str] = []


def _no_sarif(name: str) -> UsageError:
    able = ", ".join(f"`{each}`" for each in sorted(_JUDGES))
    return UsageError(
        f"`vvbuild {name}` has no findings that SARIF could hold.",
        hint=f"These have: {able}. `--json` works for every command.",
    )


def guarded(ui: Ui, work: Callable[[], View]) -> int:
    """Run a command; every failure becomes a typed error that ``ui`` shows."""
    _end_on_sigterm()
    try:
        return ui.show(work())
    except VvbuildError as error:
        return ui.show_error(error)
    except KeyboardInterrupt:
        return ui.show_error(CancelledError("Interrupted.", hint=_CARRY_ON))
    except OSError as error:
        return ui.show_error(from_os_error(error, f"finish `vvbuild {ui.command}`"))
    except Exception as error:  # noqa: BLE001 - the last frame: nothing may pass as a traceback
        return ui.show_error(_internal(error))


_CARRY_ON = "What was finished is kept; the same command carries on from there."


def _internal(error: Exception) -> InternalError:
    import traceback

    from vvbuild import __version__

    trace = "".join(traceback.format_exception(error)).rstrip()
    return InternalError(
        f"{type(error).__name__}: {error}", context={"version": __version__, "traceback": trace}
    )


def _end_on_sigterm() -> None:
    """A polite end is an interruption like Ctrl-C: children end, files are whole or gone."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGTERM, interrupt)
    except ValueError:
        # Not the main thread (a test that calls a command directly).
        pass


def _allow_environment(parameter: inspect.Parameter) -> None:
    for info in getattr(parameter.annotation, "__metadata__", ()):
        is_option = isinstance(info, typer.models.OptionInfo)
        if is_option and parameter.name not in _NEVER_FROM_ENVIRONMENT and info.envvar is None:
            info.envvar = f"VVBUILD_{parameter.name.upper()}"
            info.show_envvar = False
