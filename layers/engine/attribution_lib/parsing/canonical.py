"""Canonical JSON (RFC 8785): equal values give equal bytes, so that a digest identifies a batch whoever wrote it."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

__all__ = ["canonical_json"]

_EXACT_INTEGERS = 1 << 53
_EXPONENT_FROM = 21
_EXPONENT_BELOW = -6


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value: members sorted, no blanks, numbers as ECMAScript prints them."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode()


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
    """A double as ECMAScript's Number::toString prints it: ``1e21``, ``0.000001``, ``1e-7``, ``5``."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value):r}".partition("e") if False else _split(abs(value))
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole.strip("0") == "":
        point -= len(whole) + len(fraction) - len(fraction.lstrip("0")) - 0
    return sign + digits + str(point)
