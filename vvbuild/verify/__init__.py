"""Judging the bytes of a bundle or an archive."""
