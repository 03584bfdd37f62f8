"""Texts that must be accepted before some files are fetched, and who has accepted which."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.errors import TermsError, UsageError
from vvbuild.fetch.downloader import Consent
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.runtime.files import write_atomically

# What `--accept-terms` without a digest means: the texts that the lock names.
LOCKED = "locked"
_FILE = "accepted-terms.json"
_SCHEMA = "vvbuild.terms/1"


@dataclass(frozen=True, slots=True)
class Terms:
    """A text, its digest, and the artifacts that it is about."""

    sha256: Digest
    text: str
    artifacts: tuple[str, ...]


def default_ledger() -> Path:
    """Where consent is kept: ``VVBUILD_STATE_DIR``, or the platform's directory for such."""
    chosen = os.environ.get("VVBUILD_STATE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute() / _FILE
    import platformdirs

    return Path(platformdirs.user_state_dir("vvbuild", appauthor=False)) / _FILE


@dataclass(frozen=True)
class Acceptance:
    """What a user says of terms: ``accepts`` holds digests, or ``locked`` for all in the lock.

    ``ledger`` remembers what was accepted, by digest: a text that changed is asked for again.
    """

    accepts: tuple[str, ...] = ()
    ledger: Path = field(default_factory=default_ledger)

    def require(
        self, artifacts: Iterable[Artifact], read: Callable[[Digest], str]
    ) -> tuple[tuple[Terms, ...], Consent]:
        """The texts of ``artifacts``, all of them accepted, and what that lets a downloader do.

        ``read`` gives a text by its digest. Raises :class:`TermsError` (status 6) that shows the
        texts which nobody has accepted yet, and :class:`UsageError` for what is no digest.
        """
        texts = tuple(_texts(artifacts, read))
        digests = [_digest(each) for each in self.accepts if each != LOCKED]
        known = _read(self.ledger)
        open_texts = [
            each
            for each in texts
            if LOCKED not in self.accepts
            and each.sha256 not in digests
            and each.sha256.hex not in known
        ]
        if open_texts:
            raise _not_accepted(open_texts)
        new = {each.sha256.hex for each in texts} - known
        if new:
            _write(self.ledger, known | new)
        consent = Consent(tuple(each.text for each in texts), frozenset(digests))
        return texts, consent


def _texts(artifacts: Iterable[Artifact], read: Callable[[Digest], str]) -> Iterable[Terms]:
    names: dict[Digest, list[str]] = {}
    for artifact in artifacts:
        if artifact.terms is not None:
            names.setdefault(artifact.terms, []).append(artifact.name)
    for digest, concerned in names.items():
        yield Terms(digest, read(digest), tuple(concerned))


def _digest(text: str) -> Digest:
    try:
        return Digest(text)
    except ValueError:
        raise UsageError(
            f"--accept-terms takes a SHA-256, or nothing, got {text!r}.",
            hint="Without a digest it accepts the texts that the lock names.",
        ) from None


def _not_accepted(texts: Sequence[Terms]) -> TermsError:
    many = len(texts)
    what = "a text that must be" if many == 1 else f"{many} texts that must be"
    said = {}
    for each in texts:
        concerned = ", ".join(each.artifacts)
        said[f"terms {each.sha256.hex}"] = f"for {concerned}:\n{each.text.rstrip()}"
    return TermsError(
        f"These files come with {what} accepted first.",
        context=said,
        hint="Read it. `--accept-terms` accepts it, here and from now on; "
        "`--accept-terms SHA256` accepts a certain text.",
    )


def _read(ledger: Path) -> set[str]:
    """What was accepted here before; a file that cannot be read has accepted nothing."""
    try:
        document = json.loads(ledger.read_bytes())
        accepted = document["accepted"]
        return {each for each in accepted if isinstance(each, str)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write(ledger: Path, digests: set[str]) -> None:
    document = {"schema": _SCHEMA, "accepted": sorted(digests)}
    ledger.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(ledger, (json.dumps(document, indent=1) + "\n").encode())
