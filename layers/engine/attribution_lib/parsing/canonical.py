"""Canonical JSON (RFC 8785): equal values give equal bytes, so that a digest identifies a batch whoever wrote it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic_core import to_json

__all__ = ["canonical_json"]

_EXACT_INTEGERS = 1 << 53
_EXPONENT_FROM = 21
_EXPONENT_BELOW = -6


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value: members sorted, no blanks, numbers as ECMAScript prints them."""
    if type(value) is dict and _is_plain(value):
        return to_json(dict(sorted(value.items())))
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode()


def _is_plain(value: dict[str, Any]) -> bool:
    """Whether the serialiser's own form of an object is canonical once its members are sorted, as headers' are."""
    return "".join(value).isascii() and all(
        member is None or type(member) is str or (type(member) is int and abs(member) <= _EXACT_INTEGERS)
        for member in value.values()
    )


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, dict):
        parts.append("{")
        for index, key in enumerate(sorted(value, key=_utf16)):
            parts.append(("," if index else "") + to_json(key).decode() + ":")
            _write(value[key], parts)
        parts.append("}")
    elif isinstance(value, list | tuple):
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _write(item, parts)
        parts.append("]")
    elif isinstance(value, float) or (type(value) is int and abs(value) > _EXACT_INTEGERS):
        parts.append(_number(float(value)))
    else:
        parts.append(to_json(value).decode())


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """A double as ECMAScript's Number::toString prints it: ``5``, ``0.000001``, ``1e-7``, ``1e+21``."""
    if value == 0:
        return "0"
    _, places, shift = Decimal(repr(abs(value))).as_tuple()
    text = "".join(map(str, places))
    digits = text.rstrip("0")
    point = len(text) + int(shift)
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= _EXPONENT_FROM:
        return sign + digits.ljust(point, "0")
    if 0 < point <= _EXPONENT_FROM:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _EXPONENT_BELOW < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"
