"""Which PyPI index, npm registry and GitHub this machine is configured to use."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from configparser import Error as ConfigError
from configparser import RawConfigParser
from dataclasses import dataclass, field, replace
from pathlib import Path

from vvbuild.errors import UsageError
from vvbuild.fetch.urls import Credentials, Origin, redact, split_credentials

PUBLIC_PYPI = "https://pypi.org/simple/"
PUBLIC_NPM = "https://registry.npmjs.org/"
PUBLIC_GITHUB = "https://github.com/"
PUBLIC_GITHUB_API = "https://api.github.com/"
# Nothing that could end a header, and nothing that a token of any server holds.
_TOKEN = re.compile(r"[\x21-\x7e]+")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True)
class Index:
    """A server's base URL, ending in a slash, without credentials; they are kept apart.

    ``token`` is one for addresses below that URL, ``credentials`` are for the whole origin.
    """

    url: str
    configured_by: str
    credentials: Credentials | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str, configured_by: str) -> Index:
        """Check a configured address; raises :class:`UsageError` naming who configured it."""
        try:
            bare, credentials = split_credentials(url.strip())
            Origin.of(bare)
        except ValueError as error:
            raise UsageError(
                f"{configured_by} holds an address that is not one of HTTP: {redact(url)}",
                hint="Write it as https://host/path/.",
            ) from error
        return cls(bare.rstrip("/") + "/", configured_by, credentials)

    @property
    def origin(self) -> Origin:
        """Whom it belongs to."""
        return Origin.of(self.url)


@dataclass(frozen=True)
class Indexes:
    """Where PyPI, npm and GitHub references are resolved.

    ``scopes`` holds the npm registries of single scopes, such as ``@scope``. ``github`` serves
    downloads; ``github_api`` tells of releases, and counts requests.
    """

    pypi: Index
    npm: Index
    github: Index
    scopes: Mapping[str, Index] = field(default_factory=dict)
    github_api: Index = field(default_factory=lambda: Index(PUBLIC_GITHUB_API, "default"))

    @classmethod
    def configured(cls, environment: Mapping[str, str] | None = None) -> Indexes:
        """Read what pip, uv and npm read: environment, then files of the user, then of the system.

        Files of a project are left out: the result must not depend on the working directory.
        """
        env = os.environ if environment is None else environment
        npm, scopes = _npm(env)
        github = env.get("VVBUILD_GITHUB_URL") or PUBLIC_GITHUB
        return cls(
            pypi=_pypi(env),
            npm=npm,
            github=Index.parse(github, "VVBUILD_GITHUB_URL"),
            scopes=scopes,
            github_api=_github_api(env),
        )

    def registry(self, package: str) -> Index:
        """The npm registry of a package, by its scope."""
        return self.scopes.get(package.partition("/")[0], self.npm)

    def all(self) -> tuple[Index, ...]:
        """Every index."""
        return (self.pypi, self.npm, self.github, self.github_api, *self.scopes.values())


def _github_api(env: Mapping[str, str]) -> Index:
    """GitHub's API with the token that this machine has for it.

    On a runner of GitHub Actions ``GITHUB_API_URL`` and ``GITHUB_TOKEN`` belong together: if our
    own variable names another server, that one must not see the token.
    """
    theirs = env.get("GITHUB_API_URL")
    own = env.get("VVBUILD_GITHUB_API_URL")
    who = "VVBUILD_GITHUB_API_URL" if own else "GITHUB_API_URL" if theirs else "default"
    api = Index.parse(own or theirs or PUBLIC_GITHUB_API, who)
    if own and theirs and Index.parse(theirs, "GITHUB_API_URL").origin != api.origin:
        return api
    if api.credentials is not None:
        return api
    return replace(api, token=github_token(env))


def github_token(env: Mapping[str, str]) -> str | None:
    """The token for GitHub that this machine has.

    Raises :class:`UsageError` for what could end a header, or is in no alphabet of tokens.
    """
    for variable in ("GITHUB_TOKEN", "GH_TOKEN"):
        if token := env.get(variable, "").strip():
            if not _TOKEN.fullmatch(token):
                raise UsageError(f"{variable} holds what cannot be a token.")
            return token
    return None


def _pypi(env: Mapping[str, str]) -> Index:
    for variable in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if value := env.get(variable):
            # uv also accepts name=url.
            named = re.match(r"[A-Za-z0-9_-]+=(?=https?:)", value)
            return Index.parse(value[named.end() :] if named else value, variable)
    for file in _pip_files(env):
        if value := _pip_index(file):
            return Index.parse(value, str(file))
    for file in _uv_files(env):
        if value := _uv_index(file):
            return Index.parse(value, str(file))
    return Index.parse(PUBLIC_PYPI, "default")


def _home(env: Mapping[str, str]) -> Path:
    home = env.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(home) if home else Path.home()


def _pip_files(env: Mapping[str, str]) -> Iterator[Path]:
    """The files of pip, those that win first (pip's documentation, "Configuration")."""
    chosen = env.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    if chosen:
        yield Path(chosen)
    home = _home(env)
    if sys.platform == "win32":
        yield Path(sys.prefix, "pip.ini")
        yield Path(env.get("APPDATA") or home / "AppData/Roaming", "pip", "pip.ini")
        yield home / "pip" / "pip.ini"
        yield Path(env.get("PROGRAMDATA") or "C:/ProgramData", "pip", "pip.ini")
        return
    yield Path(sys.prefix, "pip.conf")
    if sys.platform == "darwin":
        yield home / "Library/Application Support/pip/pip.conf"
    yield Path(env.get("XDG_CONFIG_HOME") or home / ".config", "pip", "pip.conf")
    yield home / ".pip" / "pip.conf"
    if sys.platform == "darwin":
        yield Path("/Library/Application Support/pip/pip.conf")
    yield Path("/etc/pip.conf")
    for directory in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(directory, "pip", "pip.conf")


def _pip_index(file: Path) -> str | None:
    text = _read(file)
    if text is None:
        return None
    parser = RawConfigParser()
    try:
        parser.read_string(text, str(file))
    except ConfigError:
        # The parser's own message would quote lines, and they may hold a password.
        raise UsageError(f"{file} cannot be read as pip's configuration.") from None
    for section in ("install", "global"):
        if parser.has_section(section):
            options = {key.replace("_", "-"): value for key, value in parser.items(section)}
            if value := options.get("index-url"):
                return value
    return None


def _uv_files(env: Mapping[str, str]) -> Iterator[Path]:
    """The files of uv for user and system (uv's documentation, "Configuration files")."""
    if env.get("UV_NO_CONFIG"):
        return
    if chosen := env.get("UV_CONFIG_FILE"):
        yield Path(chosen)
        return
    if sys.platform == "win32":
        yield Path(env.get("APPDATA") or _home(env) / "AppData/Roaming", "uv", "uv.toml")
        yield Path(env.get("PROGRAMDATA") or "C:/ProgramData", "uv", "uv.toml")
        return
    yield Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config", "uv", "uv.toml")
    for directory in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(directory, "uv", "uv.toml")
    yield Path("/etc/uv/uv.toml")


def _uv_index(file: Path) -> str | None:
    text = _read(file)
    if text is None:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise UsageError(f"{file} cannot be read as uv's configuration.") from None
    indexes = table.get("index")
    for index in indexes if isinstance(indexes, list) else ():
        if isinstance(index, dict) and index.get("default") is True:
            return str(index.get("url", "")) or None
    pip = table.get("pip")
    value = table.get("index-url") or (pip.get("index-url") if isinstance(pip, dict) else None)
    return value if isinstance(value, str) else None


def _npm(env: Mapping[str, str]) -> tuple[Index, dict[str, Index]]:
    lowered = {name.lower(): value for name, value in env.items() if value}
    settings: dict[str, tuple[str, str]] = {}
    for file in (
        Path(lowered.get("npm_config_globalconfig") or "/etc/npmrc"),
        Path(lowered.get("npm_config_userconfig") or _home(env) / ".npmrc"),
    ):
        for key, value in _npmrc(file, env):
            settings[key] = (value, str(file))
    if chosen := lowered.get("npm_config_registry"):
        settings["registry"] = (chosen, "npm_config_registry")
    registry, configured_by = settings.pop("registry", (PUBLIC_NPM, "default"))
    scopes = {
        key.removesuffix(":registry"): Index.parse(value, by)
        for key, (value, by) in settings.items()
    }
    return Index.parse(registry, configured_by), scopes


def _npmrc(file: Path, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The lines ``registry=…`` and ``@scope:registry=…``; ``${NAME}`` stands for a variable."""
    for line in (_read(file) or "").splitlines():
        key, equals, value = (part.strip() for part in line.partition("="))
        if equals and re.fullmatch(r"(@[^:\s]+:)?registry", key):
            expanded = _VARIABLE.sub(lambda match: env.get(match[1], match[0]), value.strip("\"'"))
            if expanded:
                yield key, expanded


def _read(file: Path) -> str | None:
    """A configuration file's text; one that is missing or that we may not read has none."""
    try:
        return file.read_text("utf-8-sig", errors="replace")
    except OSError:
        return None
