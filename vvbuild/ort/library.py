"""Loading the shared library and calling the functions of its table."""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import POINTER, c_char_p, c_int, c_uint32, c_void_p, cast
from pathlib import Path
from typing import Any

from vvbuild.ort._table import PROTOTYPE, SLOTS
from vvbuild.ort.errors import LibraryError, from_status

DEFAULT_API_VERSION = 16
"""Asked for unless the caller says otherwise; a library older than 1.16 is asked for its own."""


class Library:
    """ONNX Runtime, loaded from one file and from nowhere else.

    ``path`` is absolute, so that the loader's search path has no say. ``api_version`` is the
    ``ORT_API_VERSION`` to speak. The library stays loaded until the process ends: unloading
    it is not safe once it has started threads. Raises :class:`LibraryError`.
    """

    def __init__(self, path: str | os.PathLike[str], api_version: int | None = None) -> None:
        self.path = Path(path)
        base = _api_base(self.path)
        get_api = PROTOTYPE(c_void_p, c_uint32)(base[0])
        get_version = PROTOTYPE(c_char_p)(base[1])
        self.version: str = (get_version() or b"").decode("utf-8", "replace")
        self.api_version = _choose_api(self.path, self.version, api_version)
        table = get_api(self.api_version)
        if not table:
            raise _too_old(self.path, self.version, self.api_version)
        self._table = cast(table, POINTER(c_void_p))
        self._functions: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r}, version={self.version!r}, api={self.api_version})"

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a slot of the table and give what it returns, statuses included, as it is.

        Raises :class:`LibraryError` if the API version in use has no such slot.
        """
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._bind(name)
        return function(*arguments)

    def check(self, name: str, *arguments: Any) -> None:
        """Call a slot that returns a status; raise :class:`OrtError` unless all is well."""
        status = self.call(name, *arguments)
        if not status:
            return
        code = self.call("GetErrorCode", status)
        message = (self.call("GetErrorMessage", status) or b"").decode("utf-8", "replace").strip()
        self.call("ReleaseStatus", status)
        raise from_status(code, message)

    def create(self, name: str, *arguments: Any) -> int:
        """Call a slot whose last argument receives a pointer, and give that pointer."""
        pointer = c_void_p()
        self.check(name, *arguments, ctypes.byref(pointer))
        return pointer.value or 0

    def available_providers(self) -> tuple[str, ...]:
        """The execution providers *compiled in*, in the order of preference.

        A provider may be listed and still not load: its library, or what that library
        needs, can be missing.
        """
        names = POINTER(c_char_p)()
        count = c_int()
        self.check("GetAvailableProviders", ctypes.byref(names), ctypes.byref(count))
        try:
            return tuple((names[i] or b"").decode() for i in range(count.value))
        finally:
            self.check("ReleaseAvailableProviders", names, count)

    def build_info(self) -> str:
        """How the library was built: branch, commit, flags. From API 15 on."""
        return (self.call("GetBuildInfoString") or b"").decode("utf-8", "replace")

    def _bind(self, name: str) -> Any:
        slot = SLOTS[name]
        if slot.since > self.api_version:
            raise LibraryError(
                f"{name} needs API {slot.since}; {self.path} is used with API {self.api_version}."
            )
        return PROTOTYPE(slot.result, *slot.arguments)(self._table[slot.index])


def _api_base(path: Path) -> Any:
    if not path.is_absolute():
        raise LibraryError(f"The path of ONNX Runtime must be absolute: {path}")
    if not path.is_file():
        raise LibraryError(f"There is no ONNX Runtime library at {path}.")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"Could not load {path}: {error}") from error
    try:
        get_base = loaded.OrtGetApiBase
    except AttributeError:
        raise LibraryError(f"{path} is not ONNX Runtime: it has no OrtGetApiBase.") from None
    get_base.restype = c_void_p
    get_base.argtypes = []
    address = get_base()
    if not address:
        raise LibraryError(f"OrtGetApiBase of {path} returned nothing.")
    return cast(address, POINTER(c_void_p))


def _choose_api(path: Path, version: str, wanted: int | None) -> int:
    # GetApi prints a line on stderr when it refuses a number, so refuse it first.
    match = re.match(r"1\.(\d+)\.", version)
    newest = int(match[1]) if match else None
    if wanted is None:
        return min(DEFAULT_API_VERSION, newest or DEFAULT_API_VERSION)
    if newest is not None and wanted > newest:
        raise _too_old(path, version, wanted)
    return wanted


def _too_old(path: Path, version: str, wanted: int) -> LibraryError:
    return LibraryError(f"{path} is ONNX Runtime {version}, which has no API {wanted}.")
