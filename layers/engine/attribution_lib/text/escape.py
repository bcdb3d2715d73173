"""Makes hostile text safe to show: nothing in a log line may move a cursor, colour a terminal or reorder a line."""

from __future__ import annotations

import re

__all__ = ["shown", "shown_json"]

_HOSTILE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def shown(text: str) -> str:
    r"""The text with C0, C1, ESC, bidi and invisible characters written as ``\x1b`` or ``\u202e``; tabs stay."""
    return _HOSTILE.sub(_escaped, text)


def shown_json(text: str) -> str:
    r"""JSON text with the same characters written as JSON does, ``\u202e``: equal when parsed, harmless when shown."""
    return _HOSTILE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 -- one byte or more
