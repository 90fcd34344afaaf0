"""A session of the studio: a signed cookie, so that the admin token is typed once and kept nowhere in the browser.

Nothing is stored about it. The key is made from the token: whoever changes the token ends all sessions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

__all__ = ["LIFETIME_MS", "LONGEST_MS", "Session", "cookie_name", "read_cookie", "read_session", "set_cookie"]

LIFETIME_MS: Final = 60 * 60 * 1000
"""How long a cookie counts. A page that is open asks for another one in time."""

LONGEST_MS: Final = 12 * 60 * 60 * 1000
"""After so long one has to sign in again, however often the cookie was renewed."""

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_VALUE: Final = re.compile(r"1\.([0-9]{1,15})\.([0-9]{1,15})\.([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """From when and until when somebody is signed in, in epoch milliseconds."""

    began: int
    until: int

    @classmethod
    def begin(cls, now: int) -> Session:
        """The session of somebody who has just shown the token."""
        return cls(began=now, until=now + LIFETIME_MS)

    def renewed(self, now: int) -> Session:
        """The same session for longer, within the limit of `LONGEST_MS`.

        Example:
            >>> session = Session.begin(0)
            >>> session.renewed(LIFETIME_MS // 2).until == LIFETIME_MS * 3 // 2
            True
            >>> session.renewed(LONGEST_MS - 1).until == LONGEST_MS
            True
        """
        return Session(began=self.began, until=min(now + LIFETIME_MS, self.began + LONGEST_MS))

    def signed(self, token: str) -> str:
        """The session as the cookie's value, signed with a key made from the admin token."""
        text = f"1.{self.began}.{self.until}"
        return f"{text}.{_signature(token, text)}"


def read_session(token: str, value: str | None, now: int) -> Session | None:
    """The session that a cookie's value tells of; None if it was not signed with this token, or has ended.

    Example:
        >>> token = "a token of at least thirty-two bytes"
        >>> value = Session.begin(0).signed(token)
        >>> read_session(token, value, now=1) == Session.begin(0)
        True
        >>> print(read_session("another token", value, now=1), read_session(token, value, now=LIFETIME_MS))
        None None
    """
    parts = _VALUE.fullmatch(value or "")
    if parts is None:
        return None
    began, until, signature = int(parts[1]), int(parts[2]), parts[3]
    if not hmac.compare_digest(signature, _signature(token, f"1.{began}.{until}")):
        return None
    return Session(began=began, until=until) if began <= now < until <= began + LONGEST_MS else None


def cookie_name(origin: str) -> str:
    """What the cookie is called: browsers take one that is named ``__Secure-`` only over https.

    Args:
        origin: of the Worker, as in ``"http://localhost:8787"``.
    """
    return "lunora_studio" if _is_local(origin) else "__Secure-lunora_studio"


def read_cookie(headers: Mapping[str, str], name: str) -> str | None:
    """The value of a cookie of a request; None if it is not there, or there twice."""
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    values = [value for key, _, value in pairs if key == name]
    return values[0] if len(values) == 1 else None


def set_cookie(origin: str, value: str, max_age_s: int) -> str:
    """The header ``set-cookie``. Only requests below ``/_lunora`` from pages of this site carry it; no script sees it.

    Args:
        origin: of the Worker.
        value: the cookie's; empty to take it away, with a ``max_age_s`` of 0.
        max_age_s: how long the browser keeps it.

    Example:
        >>> set_cookie("http://localhost:8787", "", 0)
        'lunora_studio=; Path=/_lunora; Max-Age=0; HttpOnly; SameSite=Strict'
    """
    secure = "" if _is_local(origin) else "; Secure"
    return f"{cookie_name(origin)}={value}; Path=/_lunora; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}"


def _is_local(origin: str) -> bool:
    """Whether this is plain http to this very machine, where browsers differ about what ``Secure`` means."""
    parts = urlsplit(origin)
    return parts.scheme == "http" and parts.hostname in _LOCAL


def _signature(token: str, text: str) -> str:
    key = hmac.digest(token.encode("utf-8", "surrogatepass"), b"lunora studio session", hashlib.sha256)
    return base64.urlsafe_b64encode(hmac.digest(key, text.encode(), hashlib.sha256)).decode().rstrip("=")
