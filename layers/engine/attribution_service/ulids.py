"""Generations and other ids that sort by time: 48 bits of milliseconds and 80 random bits in Crockford's base 32."""

from __future__ import annotations

import secrets

__all__ = ["new_ulid", "ulid_seconds"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
_RANDOM_BITS = 80


def new_ulid(seconds: float) -> str:
    """An id made at this moment (seconds since the epoch)."""
    number = (int(seconds * 1000) << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def ulid_seconds(ulid: str) -> float | None:
    """When an id was made; None when it is no ULID."""
    if len(ulid) != _LENGTH or not set(ulid) <= set(_ALPHABET):
        return None
    number = 0
    for digit in ulid:
        number = number * 32 + _ALPHABET.index(digit)
    return (number >> _RANDOM_BITS) / 1000
