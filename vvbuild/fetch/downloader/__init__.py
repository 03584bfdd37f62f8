"""The core's own downloader as a fetcher: driven by a contract table, and never trusted."""

from __future__ import annotations

from vvbuild.fetch.downloader.command import Invocation, invocations
from vvbuild.fetch.downloader.request import (
    Delivery,
    DownloadRequest,
    Limits,
    Program,
    Surroundings,
    WantedPart,
    wanted_parts,
)
from vvbuild.fetch.downloader.run import run_downloader
from vvbuild.fetch.downloader.terms import Consent, terms_digest

__all__ = [
    "Consent",
    "Delivery",
    "DownloadRequest",
    "Invocation",
    "Limits",
    "Program",
    "Surroundings",
    "WantedPart",
    "invocations",
    "run_downloader",
    "terms_digest",
    "wanted_parts",
]
