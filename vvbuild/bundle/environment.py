"""The packages that an engine is frozen with, installed by digest with uv."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from vvbuild.bundle.site_packages import (
    contested_files,
    environment_packages,
    normalise_site_packages,
)
from vvbuild.bundle.uv_failure import name_failure
from vvbuild.bundle.venv import make_venv
from vvbuild.errors import ExternalError
from vvbuild.fetch.indexes import Index, Indexes
from vvbuild.fetch.trust import has_system_authorities
from vvbuild.fetch.urls import redact
from vvbuild.model.events import Emit, Note
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree
from vvbuild.runtime.process import run

__all__ = ["environment_packages", "make_environment"]

# How to reach the index: the only things of the user's that uv may know. None of them can
# change what is installed, since every file is pinned by its digest.
_PASSED_ON = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "NETRC",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "UV_SYSTEM_CERTS", "UV_NATIVE_TLS", "UV_INSECURE_HOST", "UV_KEYRING_PROVIDER",
    "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES", "UV_CONCURRENT_DOWNLOADS",
)  # fmt: skip
_TRUST = {"SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS"}
_PLAIN = ("--no-config", "--no-progress", "--color=never")
_INSTALL = (
    "pip", "install", *_PLAIN,
    "--require-hashes", "--no-deps", "--only-binary=:all:",
    # Neither a hard link into uv's cache, whose files would be edited through it, nor compiled
    # files, which hold times.
    "--link-mode=copy", "--no-compile-bytecode",
)  # fmt: skip


def make_environment(
    *,
    uv: Path,
    python: Path,
    requirements: Path,
    cache: Path,
    work: Path,
    dest: Path,
    offline: bool,
    emit: Emit,
    cancel: Cancel,
    wheels: Path | None = None,
    wheel_platform: str | None = None,
) -> None:
    """Install ``requirements`` for ``python`` and move their site-packages to ``dest``.

    ``requirements`` must pin each package by version and SHA-256, including dependencies; only
    wheels are installed, so that no package's code runs. The result is in a normal form
    (:func:`normalise_site_packages`): the same file and the same Python give the same tree in
    any directory. Scripts, and data files outside of site-packages, are left out.

    ``cache`` is uv's, and may be shared by many runs. ``wheels`` is a directory that holds every
    wheel that is needed: with it, neither an index nor the cache is asked. ``wheel_platform`` is
    uv's name of the oldest system that the wheels must run on (``x86_64-manylinux_2_28``); without
    it uv takes the newest that this machine can run, so that another may get other wheels.

    Raises :class:`NetworkError`, :class:`DigestMismatchError`, :class:`MissingError` (no wheel
    for this Python) and others of :mod:`vvbuild.bundle.uv_failure`, with uv's last lines.
    """
    work.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix="environment-", dir=work))
    try:
        venv = make_venv(python, room / "venv", cancel)
        environment = _uv_environment(os.environ, Indexes.configured().pypi, cache)
        uv_run = _Uv(uv, venv.python, environment, room, emit, cancel)
        options: list[str | Path] = ["--offline"] if offline else []
        options += ["--no-index", "--find-links", wheels.resolve()] if wheels else []
        options += ["--python-platform", wheel_platform] if wheel_platform else []
        uv_run.install(requirements.resolve(), options)
        uv_run.warn_of_gaps()
        for path, packages in contested_files(venv.site_packages).items():
            owners = " and ".join(packages)
            emit(Note(f"{path} comes from {owners}; one hides the other.", "warning"))
        normalise_site_packages(venv.site_packages)
        dest.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(venv.site_packages, dest)
    finally:
        remove_tree(room)


@dataclass(frozen=True, slots=True)
class _Uv:
    """uv, set to work on one environment."""

    program: Path
    python: Path
    environment: Mapping[str, str]
    directory: Path
    emit: Emit
    cancel: Cancel

    def install(self, requirements: Path, options: Sequence[str | Path]) -> None:
        """Install; raises what uv's words mean."""
        lines: list[str] = []

        def on_line(line: str) -> None:
            lines.append(line)
            self.emit(Note(redact(line), "debug"))

        try:
            self._run([*_INSTALL, *options, "--requirements", requirements], on_line)
        except ExternalError as error:
            raise name_failure(lines, error) from error

    def warn_of_gaps(self) -> None:
        """Tell what the packages require and the requirements did not bring."""
        lines: list[str] = []
        try:
            self._run(["pip", "check", *_PLAIN], lines.append)
        except ExternalError:
            for line in lines:
                if line.startswith("The package "):
                    self.emit(Note(line, "warning"))

    def _run(self, arguments: Sequence[str | Path], on_line: Callable[[str], None]) -> None:
        run(
            [self.program, *arguments, "--python", self.python],
            cancel=self.cancel,
            cwd=self.directory,
            environment=self.environment,
            on_line=on_line,
        )


def _uv_environment(ours: Mapping[str, str], index: Index, cache: Path) -> dict[str, str]:
    """What uv is told by variables: an address with a password must not be in a command line."""
    environment = {name: ours[name] for name in _PASSED_ON if ours.get(name)}
    environment |= {"UV_CACHE_DIR": str(cache.resolve()), "UV_PYTHON_DOWNLOADS": "never"}
    if not _TRUST & environment.keys() and has_system_authorities():
        # uv's own list lacks what a company has added to this machine; ours does not.
        environment["UV_SYSTEM_CERTS"] = "true"
    if index.configured_by != "default":
        environment["UV_DEFAULT_INDEX"] = _with_credentials(index)
    return environment


def _with_credentials(index: Index) -> str:
    if index.credentials is None:
        return index.url
    user, password = index.credentials.user, index.credentials.password
    parts = urlsplit(index.url)
    netloc = f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"
    return urlunsplit(parts._replace(netloc=netloc))
