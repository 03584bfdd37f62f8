"""The small release of the manifests' tests."""

from tests.manifest.conftest import tiny, write

__all__ = ["tiny", "write"]
