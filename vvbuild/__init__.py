"""Build and release VOICEVOX ENGINE bundles from verified, pinned parts."""

__version__ = "0.1.0"
