"""Sizes in bytes, as people write and read them."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# Twenty digits hold every size that a file system can have.
_FORM = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*(|B|KiB|MiB|GiB|TiB)")


class ByteSize(int):
    """A number of bytes, never negative."""

    def __new__(cls, value: int) -> ByteSize:
        """Refuse what cannot be a size."""
        if value < 0:
            raise ValueError(f"a size cannot be negative: {value}")
        return super().__new__(cls, value)

    @classmethod
    def parse(cls, text: str) -> ByteSize:
        """Read ``"1900 MiB"``, ``"2GiB"`` or ``"512"``; decimal units are refused as ambiguous."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"expected a size such as 1900MiB or 2GiB, got {text!r}")
        number, unit = match.groups()
        exact = Fraction(number) * _UNITS[unit]
        if exact.denominator != 1:
            raise ValueError(f"not a whole number of bytes: {text!r}")
        return cls(exact.numerator)

    def __str__(self) -> str:
        if self < 1024:
            return f"{int(self)} B"
        value = float(self)
        for unit in ("KiB", "MiB", "GiB", "TiB"):
            value /= 1024
            if value < 1024 or unit == "TiB":
                break
        return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
