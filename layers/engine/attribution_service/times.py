"""Seconds since the epoch as the wire writes them."""

from __future__ import annotations

from attribution_lib.rfc3339 import format_instant, parse_instant

__all__ = ["SECONDS_A_DAY", "day_of", "rfc3339", "seconds_of"]

SECONDS_A_DAY = 86_400


def rfc3339(seconds: float) -> str:
    """``2026-06-01T03:14:02.000000Z``."""
    return format_instant(int(seconds * 1_000_000))


def seconds_of(text: str) -> int | None:
    """Whole seconds of an RFC 3339 instant; None when it is none."""
    micros = parse_instant(text)
    return None if micros is None else micros // 1_000_000


def day_of(seconds: float) -> str:
    """The UTC day: ``2026-06-01``."""
    return rfc3339(seconds)[:10]
