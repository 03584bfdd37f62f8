"""Makers of tiny binaries: valid files of known content, without a compiler."""
