"""Which certificate authorities are trusted."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

# Where Linux distributions and BSDs keep their bundle, if OpenSSL was compiled for another place.
_BUNDLES = (
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
)
_HASHED = re.compile(r"[0-9a-fA-F]{8}\.[0-9]+")


@dataclass(frozen=True)
class Trust:
    """A TLS context, and a few words on where its authorities come from."""

    context: ssl.SSLContext
    origin: str


def choose_trust() -> Trust:
    """``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` if they exist, else the OS's store, else certifi's.

    The OS's store comes before certifi since companies add authorities of their own there.
    A variable that names nothing is passed over, as OpenSSL does; ``origin`` says so.
    """
    import ssl

    file, directory = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    file = file if file and Path(file).is_file() else None
    directory = directory if directory and _holds_authorities(Path(directory)) else None
    if file or directory:
        return Trust(_context(file, directory), "SSL_CERT_FILE" if file else "SSL_CERT_DIR")
    ignored = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
    note = f" ({' and '.join(ignored)} named nothing)" if ignored else ""
    if sys.platform in ("win32", "darwin"):
        import truststore

        store: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return Trust(store, f"the operating system's store{note}")
    # On other systems truststore would load these same files, but it holds one lock during
    # every handshake: a server that stalls there would hold up all other downloads.
    file, directory = system_authorities()
    if file or directory:
        return Trust(_context(file, directory), f"the operating system's store{note}")
    import certifi

    origin = f"certifi's bundle, as this system has none{note}"
    return Trust(_context(certifi.where(), None), origin)


def has_system_authorities() -> bool:
    """Whether the operating system has a store of authorities at all."""
    return sys.platform in ("win32", "darwin") or any(system_authorities())


def system_authorities() -> tuple[str | None, str | None]:
    """The file and the directory of authorities that a Unix other than macOS has."""
    import ssl

    paths = ssl.get_default_verify_paths()
    directory = paths.capath if paths.capath and _holds_authorities(Path(paths.capath)) else None
    if paths.cafile or directory:
        return paths.cafile, directory
    return next((bundle for bundle in _BUNDLES if Path(bundle).is_file()), None), None


def _context(file: str | None, directory: str | None) -> ssl.SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=file, capath=directory)
    return context


def _holds_authorities(directory: Path) -> bool:
    try:
        return any(_HASHED.fullmatch(path.name) for path in directory.iterdir())
    except OSError:
        return False
