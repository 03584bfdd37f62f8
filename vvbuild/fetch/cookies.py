"""A jar that stays empty. A module of its own, since the base class is slow to import."""

from __future__ import annotations

from http.cookiejar import CookieJar


class NoCookies(CookieJar):
    """Nothing that a server hands out is kept, or sent back."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Leave them where they are."""
