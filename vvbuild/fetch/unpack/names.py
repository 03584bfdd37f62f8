"""Which members are wanted, and which names may exist at all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NoReturn

from vvbuild.errors import ArchiveLayoutError, HostileArchiveError
from vvbuild.fetch.sources.nearest import nearest
from vvbuild.fetch.unpack.globs import MemberGlobs
from vvbuild.model.artifact import check_file_name

MemberKind = Literal["file", "directory", "link"]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")
# What HFS+ leaves out of a name before it compares: joiners, marks of direction, a soft hyphen.
_IGNORABLE = re.compile("[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_LONGEST_PATH = 1024
_DEEPEST = 64


class Selection:
    """Judges every name of one archive, and remembers them to notice collisions.

    A name is refused if it could leave the directory, if any system that we build for could
    not hold it, or if two names would be one file on a file system that ignores case or
    Unicode forms.
    """

    def __init__(
        self,
        archive: str,
        *,
        strip: bool = False,
        only: Callable[[str], bool] | None = None,
        members: Sequence[str] = (),
        executables: frozenset[str] = frozenset(),
    ) -> None:
        self.archive = archive
        self._strip = strip
        self._top: str | None = None
        self._only = only
        self._globs = MemberGlobs(members) if members else None
        self._executables = executables
        self._kinds: dict[str, MemberKind] = {}
        self._spellings: dict[str, str] = {}

    def refuse(self, member: str, why: str) -> NoReturn:
        """Raise :class:`HostileArchiveError` naming the member."""
        raise HostileArchiveError(
            f"{self.archive} must not be unpacked: its member {member!r} {why}.",
            context={"archive": self.archive, "member": repr(member)},
            hint="Do not use this file. If its digest is in a lock, find out who made it.",
        )

    def admit(self, member: str, kind: MemberKind) -> str | None:
        """The path below the destination that a member gets, ``None`` if it is not wanted."""
        parts = self._parts(member)
        if self._strip and parts:
            parts = self._below_top(member, parts, kind)
        if not parts:
            return None
        path = "/".join(parts)
        if not self._wants(path, kind):
            return None
        self._check_portable(member, parts)
        self._register(member, parts, kind)
        return path

    def finish(self) -> None:
        """Raise :class:`ArchiveLayoutError` for globs that nothing matched, and a missing top."""
        if self._strip and self._top is None:
            self._refuse_layout("holds no folder that could be left out")
        unmatched = self._globs.unmatched() if self._globs is not None else []
        if self._globs is not None and unmatched:
            names = self._globs.names
            raise ArchiveLayoutError(
                f"{self.archive} holds nothing that matches {', '.join(map(repr, unmatched))}.",
                context={"archive": self.archive, "nearest": nearest(unmatched[0], names)},
                hint="Correct the pattern; `*` stays in one folder, `**` goes into all below.",
            )

    def _wants(self, path: str, kind: MemberKind) -> bool:
        if self._globs is not None and not self._globs.match(path, kind == "directory"):
            return False
        asked = f"{path}/" if kind == "directory" else path
        return self._only is None or self._only(asked)

    def _below_top(self, member: str, parts: list[str], kind: MemberKind) -> list[str]:
        if len(parts) == 1 and kind != "directory":
            self._refuse_layout(f"has {member!r} beside its top folder")
        if self._top is None:
            self._top = parts[0]
        if parts[0] != self._top:
            self._refuse_layout(f"has two top folders, {self._top!r} and {parts[0]!r}")
        return parts[1:]

    def _refuse_layout(self, why: str) -> NoReturn:
        raise ArchiveLayoutError(
            f"{self.archive} {why}; it was said to have exactly one folder at its top.",
            context={"archive": self.archive},
            hint='Unpack it with `unpack = "whole"`.',
        )

    def executable(self, path: str, mode: int) -> bool:
        """Whether a file gets execute bits: any in the archive, or by the caller's word."""
        return bool(mode & 0o111) or path in self._executables

    def check_link(self, member: str, path: str, target: str) -> None:
        """Refuse a symbolic link that could lead outside.

        ``..`` is allowed only at its beginning: there it climbs real directories, while after
        a name it would climb from wherever that name, itself a link, leads.
        """
        if not target or target.startswith("/") or "\\" in target or _DRIVE.match(target):
            self.refuse(member, f"is a link to {target!r}, which is not a relative path")
        if _CONTROL.search(target) or len(target) > _LONGEST_PATH:
            self.refuse(member, "is a link with a name that no file can have")
        parts = [part for part in target.split("/") if part not in ("", ".")]
        climbs = 0
        while climbs < len(parts) and parts[climbs] == "..":
            climbs += 1
        if climbs > path.count("/") or ".." in parts[climbs:]:
            self.refuse(member, f"is a link to {target!r}, which may lead outside")

    def _parts(self, member: str) -> list[str]:
        if "\\" in member:
            self.refuse(member, "has a backslash in its name")
        if _CONTROL.search(member):
            self.refuse(member, "has a control character in its name")
        if member.startswith("/") or _DRIVE.match(member):
            self.refuse(member, "has an absolute name")
        parts = [part for part in member.split("/") if part not in ("", ".")]
        if ".." in parts:
            self.refuse(member, "climbs out of the directory")
        return parts

    def _check_portable(self, member: str, parts: list[str]) -> None:
        for part in parts:
            complaint = _complaint(part)
            if complaint is not None:
                self.refuse(member, f"has a name that not every system can hold ({complaint})")
        if len(parts) > _DEEPEST or len(member.encode()) > _LONGEST_PATH:
            self.refuse(member, "is nested too deeply or has too long a name")

    def _register(self, member: str, parts: list[str], kind: MemberKind) -> None:
        path, parent = "/".join(parts), "/".join(parts[:-1])
        # A parent that is known brought its own parents along.
        if parent and self._kinds.get(parent) != "directory":
            for depth in range(1, len(parts)):
                self._claim(member, "/".join(parts[:depth]), "directory")
        if kind != "directory" and path in self._kinds:
            self.refuse(member, "is there twice")
        self._claim(member, path, kind)

    def _claim(self, member: str, path: str, kind: MemberKind) -> None:
        known = self._kinds.get(path)
        if known is None:
            self._kinds[path] = kind
            other = self._spellings.setdefault(_folded(path), path)
            if other != path:
                self.refuse(member, f"is the same name as {other!r} on some systems")
        elif known != kind:
            self.refuse(member, f"makes {path!r} both a {known} and a {kind}")


@lru_cache(maxsize=65_536)
def _complaint(part: str) -> str | None:
    try:
        check_file_name(unicodedata.normalize("NFC", part))
    except ValueError as error:
        return str(error)
    return None


def _folded(path: str) -> str:
    """What is left of a name on file systems that ignore case and Unicode forms.

    APFS compares by Unicode's full case folding (so ß is ss) of decomposed names, NTFS by the
    upper case of single characters (so ı is I, ſ is S); HFS+ leaves some characters out. Two
    names count as one if they are for any of them.
    """
    if path.isascii():
        return path.lower()
    bare = unicodedata.normalize("NFD", _IGNORABLE.sub("", path))
    # Folding can leave a form that is not normal any more, so it is normalised twice.
    return unicodedata.normalize("NFC", bare.casefold().upper().casefold())
