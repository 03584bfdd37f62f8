"""What servers say of a pinned file, and what its bytes say where they say too little."""

from __future__ import annotations

import re
from dataclasses import replace

from vvbuild.errors import LockError, NetworkError, NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.sources import resolve
from vvbuild.locking.means import Means, persist
from vvbuild.locking.notes import terms_block
from vvbuild.locking.read import Learned, Told, Wants, read, refuse_large
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.reference import Reference
from vvbuild.model.terms import terms_text

_GITHUB = "GitHub release API"


def learn(pin: PinnedArtifact, means: Means, wants: Wants) -> Learned:
    """What the first reference that is there says of its file, and what must be accepted for it.

    The file is read where ``wants`` says so, and where it is itself what must be accepted. Raises
    :class:`NotFoundOnServerError` where no reference is there, :class:`LockError` for a text that
    nobody could be asked to accept, and another typed error where a reference could not be asked,
    is not what its index says, or is larger than the manifest allows.
    """
    missing: list[NotFoundOnServerError] = []
    for reference in pin.references:
        try:
            learned = _look_up(reference, means)
            refuse_large(pin, learned.size)
            if pin.terms == "file" or wants.bytes(learned):
                learned = read(pin, learned, means, wants)
            if pin.terms == "release-note":
                learned = replace(learned, terms=_release_terms(pin, learned.reference, means))
        except NotFoundOnServerError as error:
            missing.append(error)
            continue
        return _as_a_second_choice(learned, pin) if missing else learned
    if len(missing) == 1:
        raise missing[0]
    raise NotFoundOnServerError(
        f"Could not get {pin.name}. None of its {len(missing)} references is there.",
        context={
            str(reference): error.message
            for reference, error in zip(pin.references, missing, strict=True)
        },
        hint=missing[0].hint,
    )


def asset_names(pin: PinnedArtifact, means: Means) -> tuple[str, ...]:
    """The assets that a glob stands for, ``10.vvm`` after ``9.vvm``.

    Raises :class:`NotFoundOnServerError` where it fits none, and :class:`NetworkError` where one
    has a name that no lock can hold.
    """
    reference = pin.references[0]
    release = means.catalogue.release(reference.project, reference.version, means)
    names = [asset.name for asset in release.assets if pin.covers(asset.name)]
    if not names:
        raise NotFoundOnServerError(
            f"No asset of {reference.project}@{reference.version} is called {pin.name}.",
            context={"assets": ", ".join(asset.name for asset in release.assets) or "none"},
            hint="The pattern stands in the manifest.",
        )
    try:
        for name in names:
            Reference.parse(str(pin.named(name).references[0]))
    except ValueError as error:
        raise NetworkError(f"{reference.project}@{reference.version}: {error}.") from None
    return tuple(sorted(names, key=_by_numbers))


def _by_numbers(name: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"([0-9]{1,18})", name)
    )


def _look_up(reference: Reference, means: Means) -> Learned:
    log = AttemptLog(reference.file)
    try:
        location = resolve(reference, means.session, log=log, cancel=means.cancel, emit=means.emit)
    except AttemptError:
        raise log.error() from None
    if reference.source == "github":
        return _asset(reference, location.url, means)
    hint = location.sha256_hint
    return Learned(
        reference=reference,
        url=location.url,
        how=f"index of {reference.source}",
        sha256=None if hint is None else hint.hex,
        size=location.size_hint,
    )


def _asset(reference: Reference, url: str, means: Means) -> Learned:
    release = means.catalogue.release(reference.project, reference.version, means)
    asset = persist(reference.file, "GitHub", lambda: release.asset(reference.file), means)
    return Learned(
        reference=reference,
        url=url,
        how=_GITHUB,
        sha256=None if asset.sha256 is None else asset.sha256.hex,
        size=asset.size,
        upload=asset.updated_at or None,
    )


def _release_terms(pin: PinnedArtifact, found: Reference, means: Means) -> Told:
    """The block of terms in the text of the GitHub release that a file is of."""
    releases = [each for each in (found, *pin.references) if each.source == "github"]
    if not releases:
        raise LockError(f"{pin.name} is of no GitHub release, whose text could have its terms.")
    project, tag = releases[0].project, releases[0].version
    body = means.catalogue.release(project, tag, means).body
    try:
        block = terms_block(body or "")
        text = None if block is None else terms_text(block)
    except ValueError as error:
        raise LockError(f"{pin.name}: the text of {project}@{tag} is unclear: {error}.") from None
    return Told(text, "GitHub release text" if text else "none in the GitHub release text")


def _as_a_second_choice(learned: Learned, pin: PinnedArtifact) -> Learned:
    how = f"{learned.how} ({learned.reference}, since {pin.references[0]} was not found)"
    return replace(learned, how=how)
