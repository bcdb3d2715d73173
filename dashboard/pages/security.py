"""What keeps a page from being turned against its reader: fixed headers, and a token only our own form can send."""

from __future__ import annotations

import re
import secrets
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from dashboard.pages.exchange import PageRequest

__all__ = ["SECURITY_HEADERS", "TOKEN_FIELD", "form_token", "may_write", "token_cookie"]

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""On every answer. No inline script or style runs, nothing is loaded from elsewhere, no page may frame this one."""
TOKEN_FIELD = "token"  # noqa: S105 -- the name of a form's field
_COOKIE = "attribution_form"
_HOSTS = ("host", "x-forwarded-host")
"""What names this site: a form of another site can set neither header."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def form_token(request: PageRequest) -> str:
    """The token of this browser: what its cookie holds, else a new one that ``token_cookie`` sets."""
    return _cookie_token(request) or secrets.token_urlsafe(32)


def token_cookie(request: PageRequest, token: str) -> tuple[str, ...]:
    """The ``Set-Cookie`` that a page with a form needs; nothing when the browser has it already."""
    if _cookie_token(request) == token:
        return ()
    secure = "; Secure" if _scheme(request) == "https" else ""
    return (f"{_COOKIE}={token}; Path={request.base or '/'}; HttpOnly; SameSite=Strict{secure}",)


def may_write(request: PageRequest, sent: str) -> bool:
    """Whether a form came from our own page: same origin, and the token of the cookie in the form itself.

    Another site can make a browser send the cookie but can neither read it nor name our origin as its own.
    """
    origin = urlsplit(request.headers.get("origin", "")).netloc.lower()
    ours = {request.headers.get(name, "").lower() for name in _HOSTS} - {""}
    site = request.headers.get("sec-fetch-site", "same-origin")
    kept = _cookie_token(request)
    return bool(kept) and origin in ours and site == "same-origin" and compare_digest(kept.encode(), sent.encode())


def _cookie_token(request: PageRequest) -> str:
    try:
        found = SimpleCookie(request.headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and _TOKEN.fullmatch(found.value) else ""


def _scheme(request: PageRequest) -> str:
    return request.headers.get("x-forwarded-proto", "http").partition(",")[0].strip().lower()
