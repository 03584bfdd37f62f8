"""``explain``: find what a word means, and tell it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import cast

from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.explain.core import explain_core
from vvbuild.explain.errors import explain_error, known_errors, meaning
from vvbuild.explain.explanation import Explanation, Topic
from vvbuild.explain.gpu import explain_gpu, explain_libraries, explain_zlibwapi
from vvbuild.explain.onnxruntime import FLAVOURS, NAME, explain_onnxruntime
from vvbuild.explain.parts import (
    explain_engine,
    explain_models,
    explain_plain,
    explain_pyinstaller,
    explain_python,
)
from vvbuild.explain.rules import explain_rule, known_rules
from vvbuild.explain.summaries import SUMMARIES
from vvbuild.manifest.decode import no_such
from vvbuild.model.release import COMPONENTS, Flavour

_NAME_ENDS = re.compile(r"\s*=\s*|\s+(?!=)")
_VERSION = re.compile(r"[0-9][0-9A-Za-z._+-]*")
_EXAMPLE = (
    "Write it like `vvbuild explain core 0.16.2` or `vvbuild explain onnxruntime pypi:1.27.0`."
)
_LIST = "`vvbuild explain` lists what can be explained."
_COMPONENTS: dict[str, Callable[[str | None], Explanation]] = {
    "engine": explain_engine,
    "core": partial(explain_core, "core"),
    "extra-cores": partial(explain_core, "extra-cores"),
    "downloader": partial(explain_core, "downloader"),
    "cuda": partial(explain_gpu, "cuda"),
    "cudnn": partial(explain_gpu, "cudnn"),
    "directml": partial(explain_gpu, "directml"),
    "zlibwapi": explain_zlibwapi,
    "additional-libraries": explain_libraries,
    "models": explain_models,
    "resource": partial(explain_plain, "resource"),
    "dictionary": partial(explain_plain, "dictionary"),
    "python": explain_python,
    "pyinstaller": explain_pyinstaller,
}


def topics() -> tuple[Topic, ...]:
    """Everything that can be explained: rules, error codes, components."""
    rules = [Topic("rule", each.name, each.demand) for each in known_rules().values()]
    errors = [Topic("error", code, meaning(each)) for code, each in known_errors().items()]
    components = [Topic("component", name, text) for name, text in SUMMARIES.items()]
    return (*sorted(rules, key=lambda each: each.name), *errors, *components)


def explain(words: Sequence[str], today: date) -> tuple[Explanation, ...]:
    """All that one name means: the rule, the error code and the component of that name, in turn.

    ``words`` are a name and, for a component, a version behind it, a blank or an equals sign
    between them. Raises :class:`UnknownNameError` with the nearest names, and
    :class:`UsageError` for what is no version.
    """
    name, *rest = _NAME_ENDS.split(" ".join(words).strip(), maxsplit=1)
    if name in COMPONENTS and rest:
        return (_component(name, rest[0]),)
    found: list[Explanation] = []
    rules, errors = known_rules(), known_errors()
    if name in rules:
        found.append(explain_rule(rules[name], today))
    if name in errors:
        found.append(explain_error(errors[name]))
    if name in COMPONENTS:
        found.append(_component(name, None))
    if not found:
        raise UnknownNameError(_nothing(name, [*rules, *errors, *COMPONENTS]), hint=_LIST)
    if rest:
        raise UsageError(f"Only components have versions, and {name} is none.", hint=_EXAMPLE)
    return tuple(found)


def _component(name: str, version: str | None) -> Explanation:
    flavour, colon, number = (version or "").rpartition(":")
    if version in FLAVOURS:
        flavour, colon, number = version, ":", ""
    if colon and name != NAME:
        raise UsageError(f"Only {NAME} has flavours, got {version!r}.", hint=_EXAMPLE)
    if colon and flavour not in FLAVOURS:
        raise UnknownNameError(no_such("flavour", flavour, FLAVOURS), hint=_EXAMPLE)
    if number and not _VERSION.fullmatch(number):
        raise UsageError(f"Expected a version such as 1.23.2, got {number!r}.", hint=_EXAMPLE)
    if name == NAME:
        return explain_onnxruntime(number or None, cast(Flavour, flavour) if colon else None)
    return _COMPONENTS[name](number or None)


def _nothing(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    # A part of a name is what people remember.
    near += [each for each in known if len(name) > 2 and name in each and each not in near][:3]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"There is no rule, error code or component {name!r}.{meant}"
