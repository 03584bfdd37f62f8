"""The mark in a bootloader for Windows that tells of which PyInstaller it is.

A program says nothing of that by itself, and one frozen by another PyInstaller dies at its start
("Module object for struct is NULL"). The mark is text among the constants: no export, no
resource (PyInstaller writes those anew). :func:`vvbuild.binary.program.read_mark` reads it.
"""

from __future__ import annotations

from vvbuild.binary.program import MARK

FILE = "vvbuild_mark.c"
# `used` keeps compilers from leaving it out; linkers keep what is in an object that they link.
_SOURCE = """\
#ifdef _WIN32
#if defined(__GNUC__)
__attribute__((used))
#endif
const char vvbuild_mark[] = "{mark}";
#if defined(_MSC_VER)
#pragma comment(linker, "/include:vvbuild_mark")
#endif
#endif
"""


def mark_source(version: str) -> str:
    """The C source of the mark; on other systems than Windows it compiles to nothing."""
    return _SOURCE.replace("{mark}", MARK + version)
