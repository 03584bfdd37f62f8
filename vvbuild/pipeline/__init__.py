"""Steps with keys: planned purely, run once, remembered in the store."""
