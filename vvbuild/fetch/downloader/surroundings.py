"""What a downloader gets to see of this machine, and what must not be seen of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from vvbuild.fetch.downloader.request import Surroundings
from vvbuild.model.downloader import Contract
from vvbuild.runtime.process import clean_environment

# How to reach the network from here. Both spellings: programs differ in which they read.
_PASSED = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_HIDDEN = "***"


def environment_for(contract: Contract, around: Surroundings, temporary: Path) -> dict[str, str]:
    """The environment of a run: the way to the network, one token, and no other secret.

    The token goes under the first name that the contract knows, whatever it was called here.
    """
    extra = {name: os.environ[name] for name in _PASSED if name in os.environ}
    extra |= {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    if around.token is not None:
        extra[contract.generation.token[0]] = around.token
    return clean_environment({**extra, **around.variables})


def hider(around: Surroundings) -> Callable[[str], str]:
    """A function that takes the token out of a text."""
    token = around.token
    return (lambda text: text.replace(token, _HIDDEN)) if token else str
