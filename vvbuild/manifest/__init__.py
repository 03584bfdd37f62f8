"""Reading, checking and locking what people write under ``manifests/``."""
