r"""Secrets masked before evidence is extracted or stored.

Masked are: authorisation headers and bearer tokens; tokens of well-known makers by their shape; the values of
``…_KEY=``, ``…_TOKEN=``, ``…_SECRET=``, ``PASSWORD=`` and their kin (also as options, YAML and JSON); signed URL
parameters; user information of URLs; bodies of private keys. Line ends, quotes and backslashes are never touched, so
every line keeps its number and a JSON body stays the JSON it was, but that messages which journals write as arrays of
bytes become the strings they stand for. Names, paths and checksums are no secrets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import re2

from attribution_lib.text.lines import spelt_out

__all__ = ["MASK", "redact"]

MASK: Final = b"[REDACTED]"

_QUOTED = rb"""\\?"([^"\\\s,}\]:][^"\\\r\n]*)\\?"|\\?'([^'"\\\s,}\]:][^'"\\\r\n]*)\\?'"""
"""In a JSON body a bare quote ends the string; what follows it then begins with ``,``, ``}``, ``]`` or ``:``."""
_BARE = rb"""((?:[^\s"'\\&]|\\u[0-9A-Fa-f]{4})+)"""
_VALUE = rb"(?:" + _QUOTED + rb"|" + _BARE + rb")"
_GIVES = rb"""\\?["']?[ \t]{0,4}[=:][ \t]{0,4}"""
_WORDY = (
    rb"(?i:passw(?:or)?d|passphrase|(?:api|secret|access|private|wandb|encryption)[_-]?key(?:[_-]?id)?"
    rb"|(?:auth|access|refresh|session|security|hf|hub|github|gitlab|wandb|ngc|bot)[_-]?token|client[_-]?secret)"
)
_URL_START = rb":(?:\\?/){2}"


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of secret. Every group of ``pattern`` is the secret itself; RE2 syntax over bytes."""

    name: str
    pattern: bytes


_FORMS: Final = (
    _Form(
        "authorisation header",
        rb"(?i:authorization)" + _GIVES + rb"""\\?["']?(?i:bearer|basic|token|digest)[ \t]+""" + _BARE,
    ),
    _Form("authorisation header, no scheme", rb"(?i:authorization)" + _GIVES + rb"""\\?["']?([\w.~+/=-]{16,})"""),
    _Form("bearer token", rb"(?i:\bbearer)[ \t]+([\w.~+/=-]{6,})"),
    _Form("setting in capitals", rb"(?:_KEY|_KEY_ID|_TOKEN|_SECRET|APIKEY|PASSWORD|PASSWD|_PWD)" + _GIVES + _VALUE),
    _Form("setting", _WORDY + _GIVES + _VALUE),
    _Form("option", rb"--[\w-]*" + _WORDY + rb"[ \t]+" + _VALUE),
    _Form("AWS key id", rb"\b((?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16})\b"),
    _Form("Hugging Face token", rb"\b((?:hf|api_org)_[A-Za-z0-9]{20,})\b"),
    _Form("Weights & Biases key", rb"(?i:wandb[ .]+login|password)[^\n\"\\]{0,40}?\\?[ \t=('\"]([0-9a-f]{40})\b"),
    _Form("Weights & Biases token", rb"\b(wandb_v\d_[A-Za-z0-9_]{20,})\b"),
    _Form("GitHub or GitLab token", rb"\b(gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})"),
    _Form(
        "OpenAI, Slack, NVIDIA, Google, npm or PyPI token",
        rb"\b(sk-[\w-]{20,}|xox[a-z]-[\w-]{10,}|nvapi-[\w-]{20,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|pypi-Ag[\w-]{20,})",
    ),
    _Form("JSON web token", rb"\b(eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"),
    _Form(
        "signed URL parameter",
        rb"(?i:x-(?:amz|goog)-(?:signature|credential|security-token)|[?&](?:sig|access_token|token|api_?key))=([^&\s\"'\\]+)",
    ),
    _Form("URL user information", _URL_START + rb"""([^\s/?#"'<>\\]+)@"""),
    _Form("private key", rb"-----BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY-----((?:\s|\\[nrt/]|[\w+/=])+)"),
)  # fmt: skip -- one form a line
_PRIVATE_KEY: Final = len(_FORMS) - 1
_URL: Final = len(_FORMS) - 2
_BEARER: Final = 2
_KEY_LINE = re.compile(rb"(\\.)|[\w+/=]{8,}")
_NO_SECRETS = frozenset({b"none", b"null", b"true", b"false", MASK.lower()})
_KINDS = frozenset({b"secret", b"configmap"})
"""What Kubernetes says before an object's name."""
_LONG_TOKEN = 20


def redact(data: bytes) -> tuple[bytes, int]:
    """``data`` with every secret replaced by ``[REDACTED]``, and how many there were.

    The number of lines never changes. Text without secrets is scanned once by a linear-time automaton and returned as
    it is. Redacting twice changes nothing more.
    """
    data = spelt_out(data)
    pattern, forms = _compiled()
    parts: list[bytes] = []
    done = position = count = 0
    while match := pattern.search(data, position):
        group = match.lastindex
        start, end = match.span(group)
        masked = _masked(forms[group], data[start:end], data[end : end + 16])
        if masked is None:
            position = max(start, match.start() + 1)
            continue
        parts += (data[done:start], masked)
        done = position = end
        count += 1
    if not count:
        return data, 0
    parts.append(data[done:])
    return b"".join(parts), count


def _masked(form: int, secret: bytes, following: bytes) -> bytes | None:
    """What to put in a secret's place; None when it is none."""
    if secret.startswith(MASK) or secret.lower() in _NO_SECRETS:
        return None
    if secret in _KINDS and following.startswith((b' "', b' \\"')):
        return None  # volume "hf-token" : secret "hf-token" not found
    if form == _BEARER and len(secret) < _LONG_TOKEN and not re.search(rb"\d", secret):
        return None  # "bearer authentication"
    if form == _URL and following.startswith(b"@sha256:"):
        return None  # docker://ubuntu@sha256:… names an image
    if form == _PRIVATE_KEY:
        body = _KEY_LINE.sub(lambda found: found.group(1) or MASK, secret)
        return None if body == secret else body
    return MASK


@cache
def _compiled() -> tuple[Any, dict[int, int]]:
    """All forms as one RE2 expression, and which form each of its groups belongs to."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    options.log_errors = False
    forms: dict[int, int] = {}
    for index, form in enumerate(_FORMS):
        for _ in range(re2.compile(form.pattern, options=options).groups):
            forms[len(forms) + 1] = index
    return re2.compile(b"|".join(b"(?:%s)" % form.pattern for form in _FORMS), options=options), forms
