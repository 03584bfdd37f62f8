"""What the words of a comparison mean."""

from __future__ import annotations

from pathlib import Path

from vvbuild.errors import UsageError
from vvbuild.manifest.choose import choose_release
from vvbuild.manifest.release import LoadedRelease, release_names

_MANIFEST = ".toml"


def find_side(word: str, directory: Path) -> LoadedRelease:
    """The release of that name, or of that manifest's file.

    Raises :class:`UsageError` for a path of anything else, and what
    :func:`~vvbuild.manifest.choose.choose_release` raises.
    """
    is_path = any(each in word for each in "/\\") or (directory / word).exists()
    if word not in release_names() and is_path and not word.endswith(_MANIFEST):
        raise UsageError(
            f"{word!r} is a path, but only releases can be compared.",
            context={"releases": ", ".join(release_names())},
            hint="Name two releases, such as `vvbuild diff 0.25.1 0.25.2`, or the .toml of a "
            "manifest. `vvbuild verify PATH` looks at a bundle.",
        )
    return choose_release(word, directory).release
