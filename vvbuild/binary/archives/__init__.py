"""Listings of archives, and the bytes of their members, without unpacking them."""
