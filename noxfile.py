"""Everything that a developer runs, and CI runs the same."""

from __future__ import annotations

import os
import ssl

import nox

# uv's own list of authorities lacks what a company has added to this machine.
if ssl.get_default_verify_paths().cafile:
    os.environ.setdefault("UV_SYSTEM_CERTS", "true")

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

LOCK = "tests/requirements.txt"


def install(session: nox.Session) -> None:
    session.install("--require-hashes", "-r", LOCK)
    session.install("--no-deps", "-e", ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, with the formatter as judge of layout."""
    session.install("--require-hashes", "-r", LOCK)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict, as for the oldest Python that we support."""
    install(session)
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """The default tests; more arguments go to pytest."""
    install(session)
    session.run("pytest", "-n", "2", "-m", "not slow", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """The default tests with branch coverage, also of the processes that they start."""
    install(session)
    session.run("coverage", "erase")
    session.run("pytest", "-n", "2", "-m", "not slow", "--cov", "--cov-report=", *session.posargs)
    session.run("coverage", "report", "--skip-covered", "--show-missing")


@nox.session
def slow(session: nox.Session) -> None:
    """The tests that take minutes."""
    install(session)
    session.run("pytest", "-m", "slow", "--timeout=1800", *session.posargs)


@nox.session
def chaos(session: nox.Session) -> None:
    """Kill the real build at random moments; the next run must end right."""
    install(session)
    session.run("python", "tests/chaos.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Speed, as ratios against the real peer on the same work."""
    install(session)
    session.run("python", "tests/bench.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Wheel and sdist, and a look whether the wheel works by itself."""
    session.install("build")
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("python", "tests/check_wheel.py", "dist")


@nox.session
def schema(session: nox.Session) -> None:
    """Write manifests/schema/ from the types."""
    install(session)
    session.run("python", "-m", "vvbuild.manifest.schema")


@nox.session
def docs(session: nox.Session) -> None:
    """Write docs/reference/ from the code."""
    install(session)
    session.run("python", "-m", "vvbuild.cli.reference", "docs/reference")


@nox.session
def lock_dev(session: nox.Session) -> None:
    """Write the developers' requirements with hashes, for every Python and system."""
    session.install("uv")
    session.run(
        "uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header",
        "--no-annotate", "--python-version", "3.10", "--group", "dev", "pyproject.toml",
        "-o", LOCK, "-q", *session.posargs,
    )  # fmt: skip
