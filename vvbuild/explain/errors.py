"""An error code: what it means, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from vvbuild.errors import ExitStatus, VvbuildError, error_classes
from vvbuild.explain.explanation import Explanation, Fact

PAGE = "docs/reference/errors.md"
# A leaf that is not here is mended as its family is.
_NEXT = {
    "vvbuild-error": "Read the message and its hint.",
    "usage": "Mend the command line or the file that the message names; `--help` shows what a "
    "command takes.",
    "unknown-name": "Take one of the names that the message proposes; `vvbuild releases`, "
    "`vvbuild targets` and `vvbuild explain` list them.",
    "manifest-invalid": "Go to the file and line of the message and write what it expects; the "
    "schema in manifests/schema helps an editor to tell.",
    "reference-invalid": "Write the reference in one of the forms of "
    "docs/reference/manifest.md, with https.",
    "output-not-ours": "Choose another --out, or empty that directory yourself.",
    "network": "Run the same command again: what was fetched is kept. Look at the proxy and the "
    "certificates if it stays.",
    "not-found-on-server": "Look whether the version was really published for this target; "
    "`vvbuild check` tells of combinations that never were.",
    "rate-limited": "Wait until the time that the message names, or put a token of GitHub's into "
    "GITHUB_TOKEN.",
    "offline": "Run once without --offline, or bring the file into the store.",
    "integrity": "Do not use the bytes. Find out who changed them before the lock is written anew.",
    "digest-mismatch": "Somebody published other bytes, or a proxy changed them: compare with a "
    "second network, then look at `vvbuild lock --check`.",
    "size-mismatch": "The transfer was cut, or the file was replaced: run it again, then look at "
    "`vvbuild lock --check`.",
    "lock-drift": "Find out who published it anew, and why. If what is there now is "
    "right, `vvbuild lock --accept-drift NAME` takes it.",
    "lock-invalid": "Write the lock anew with `vvbuild lock --release RELEASE` and read its diff.",
    "hostile-archive": "Do not unpack it by hand. Tell whoever published it.",
    "binary-malformed": "The file is damaged or no program: fetch it again.",
    "store-corrupt": "Run `vvbuild cache clean`; everything is fetched or made again.",
    "missing": "Install what the message names; `vvbuild doctor` shows all of it.",
    "host-cannot-freeze": "Run it on the CI runner that the message names; `vvbuild matrix` has "
    "all of them.",
    "host-tool-missing": "Install it with the line that `vvbuild doctor` shows.",
    "python-missing": "Install that Python, or name one with --python.",
    "external-program": "Read the program's last lines in the message; run again with -v.",
    "downloader-failed": "Read its last lines in the message; `--fetcher direct` fetches the same "
    "files without the core's downloader.",
    "bootloader-failed": "Read the compiler's last lines; `vvbuild doctor` tells what is missing.",
    "freeze-failed": "Read PyInstaller's last lines: mostly a module that the requirements lack.",
    "engine-failed": "Start the bundle's program by hand and read what it says.",
    "findings": "Mend what the findings name, or waive it in the manifest with a reason.",
    "resources": "Give it the space or the rights that the message names.",
    "disk-full": "Free some space, or put VVBUILD_CACHE_DIR and --out on another disk.",
    "permission-denied": "Give this user the right to write there, or choose another directory.",
    "interrupted": "Run the same command again; it carries on from what was finished.",
    "internal": "Please report it with the lines that it printed.",
}


def known_errors() -> Mapping[str, type[VvbuildError]]:
    """The errors that people can meet, by code: all of the tree but its root."""
    return {
        each.code: each
        for each in error_classes()
        if each is not VvbuildError and each.__module__ == VvbuildError.__module__
    }


def meaning(error: type[VvbuildError]) -> str:
    """What an error means, as one sentence."""
    return " ".join((error.__doc__ or "").split("\n\n")[0].split())


def explain_error(error: type[VvbuildError]) -> Explanation:
    """All about an error code."""
    status: ExitStatus = error.exit_status
    family = next(
        (each for each in error.__mro__[1:] if issubclass(each, VvbuildError)), VvbuildError
    )
    facts = [
        Fact("exit status", f"{int(status)} ({status.name.lower()})", PAGE),
        Fact("what next", _advice(error), PAGE),
        Fact("page", f"{PAGE}#{int(status)}-{status.name.lower()}", PAGE),
    ]
    if family is not VvbuildError:
        facts.append(Fact("is a kind of", family.code, PAGE))
    below = [each.code for each in known_errors().values() if error in each.__bases__]
    if below:
        facts.append(Fact("has the kinds", ", ".join(below), PAGE))
    return Explanation("error", error.code, meaning(error), facts=tuple(facts))


def _advice(error: type[VvbuildError]) -> str:
    return next(
        _NEXT[each.code]
        for each in error.__mro__
        if issubclass(each, VvbuildError) and each.code in _NEXT
    )
