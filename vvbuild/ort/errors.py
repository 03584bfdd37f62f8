"""What ONNX Runtime, or the way to it, can refuse."""

from __future__ import annotations

from enum import IntEnum

# There is no error code of its own for a terminated run (microsoft/onnxruntime#20999);
# inside Loop and Scan the sentence is wrapped in others, so only its middle is looked for.
_TERMINATED_TEXT = "terminate flag"


class ErrorCode(IntEnum):
    """``OrtErrorCode`` of ``onnxruntime_c_api.h``."""

    FAIL = 1
    INVALID_ARGUMENT = 2
    NO_SUCH_FILE = 3
    NO_MODEL = 4
    ENGINE_ERROR = 5
    RUNTIME_EXCEPTION = 6
    INVALID_PROTOBUF = 7
    MODEL_LOADED = 8
    NOT_IMPLEMENTED = 9
    INVALID_GRAPH = 10
    EP_FAIL = 11


class OrtError(Exception):
    """A failure that ONNX Runtime reported: its code and its own words.

    ``code`` is a number of :class:`ErrorCode` where that class knows it, any other number
    from a newer library, or ``None`` when the failure is not from inside ONNX Runtime.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        if self.code is None:
            return self.message
        known = self.code in ErrorCode._value2member_map_
        name = f" ({ErrorCode(self.code).name})" if known else ""
        return f"ONNX Runtime error {self.code}{name}: {self.message}"


class Terminated(OrtError):
    """A run that ended early because its options were told to terminate."""


class LibraryError(OrtError):
    """A file that cannot be loaded, is not ONNX Runtime, or lacks what was asked of it."""


class ClosedError(OrtError):
    """Use of something after its ``close()``."""


def from_status(code: int, message: str) -> OrtError:
    """The error for a status, recognising a terminated run by its text."""
    kind = Terminated if _TERMINATED_TEXT in message else OrtError
    return kind(message, code)
