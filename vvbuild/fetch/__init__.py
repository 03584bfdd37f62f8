"""Getting artifacts: store, transfer, sources, safe unpacking."""
