"""Reference pages as Markdown, written from the code that they describe.

Pure functions: each takes what it describes and returns a page. ``vvbuild.cli.reference`` gathers
what they need and writes the files; ``tests/report/test_reference.py`` holds the files against
them.
"""

from vvbuild.report.reference.commands import CommandDoc, OptionDoc, commands_page
from vvbuild.report.reference.errors import errors_page
from vvbuild.report.reference.manifest import MANIFEST_FILES, ManifestFile, manifest_page
from vvbuild.report.reference.rules import rules_page

__all__ = [
    "MANIFEST_FILES",
    "CommandDoc",
    "ManifestFile",
    "OptionDoc",
    "commands_page",
    "errors_page",
    "manifest_page",
    "rules_page",
]
