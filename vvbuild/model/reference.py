"""Where an artifact can be fetched from, in the one spelling that manifests and locks use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Source = Literal["pypi", "npm", "github", "https", "file"]

_PART = r"[A-Za-z0-9][A-Za-z0-9._+!-]*"
_FORMS: dict[Source, tuple[re.Pattern[str], str]] = {
    "pypi": (
        re.compile(rf"(?P<project>{_PART})/(?P<version>{_PART})/(?P<file>{_PART})"),
        "pypi:project/version/file",
    ),
    "npm": (
        re.compile(rf"(?P<project>(?:@{_PART}/)?{_PART})/(?P<version>{_PART})"),
        "npm:[@scope/]package/version",
    ),
    "github": (
        re.compile(rf"(?P<project>{_PART}/{_PART})@(?P<version>{_PART})/(?P<file>{_PART})"),
        "github:owner/repo@tag/asset",
    ),
}
# urlsplit drops tabs and line ends without a word; clients differ over the others.
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Reference:
    """One place that serves an artifact.

    ``project``, ``version`` and ``file`` are what the source calls them; for ``https`` and
    ``file`` the whole URL is in ``url`` and ``file`` is its last part.
    """

    source: Source
    project: str
    version: str
    file: str
    url: str | None = None

    def __str__(self) -> str:
        if self.url is not None:
            return self.url
        if self.source == "npm":
            return f"npm:{self.project}/{self.version}"
        joint = "@" if self.source == "github" else "/"
        return f"{self.source}:{self.project}{joint}{self.version}/{self.file}"

    @classmethod
    def parse(cls, text: str, *, allow_local: bool = False) -> Reference:
        """Read a reference; ``ValueError`` says what was expected.

        ``allow_local`` admits ``file:`` and plain HTTP on loopback, for tests and for users who
        ask for it.
        """
        scheme, _, rest = text.partition(":")
        if scheme in _FORMS:
            pattern, form = _FORMS[scheme]
            match = pattern.fullmatch(rest)
            if match is None or ".." in rest:
                raise ValueError(f"expected {form}, got {text!r}")
            parts = match.groupdict()
            file = (
                parts.get("file") or f"{parts['project'].rsplit('/', 1)[-1]}-{parts['version']}.tgz"
            )
            return cls(scheme, parts["project"], parts["version"], file)
        return cls._parse_url(text, allow_local=allow_local)

    @classmethod
    def _parse_url(cls, text: str, *, allow_local: bool) -> Reference:
        url = urlsplit(text)
        if "@" in url.netloc:
            raise ValueError("a URL in a manifest must not hold a user name or a password")
        if _NOT_IN_URL.search(text) or ".." in url.path.split("/"):
            raise ValueError(f"expected a URL without spaces, backslashes and '..', got {text!r}")
        _ = url.port  # raises ValueError for what is no port
        file = url.path.rsplit("/", 1)[-1]
        local = url.scheme == "file" or (url.scheme == "http" and url.hostname in _LOOPBACK)
        if url.scheme == "https" and url.hostname and file:
            return cls("https", "", "", file, text)
        if local and file:
            if not allow_local:
                raise ValueError(f"{text!r} is local; only https:// is allowed here")
            return cls("file" if url.scheme == "file" else "https", "", "", file, text)
        forms = ", ".join(form for _, form in _FORMS.values())
        raise ValueError(f"expected {forms} or https://host/path/file, got {text!r}")
