"""A bundle packed: ``.vvpp`` (zip, for the editor) and ``.7z``, whole or in parts."""
