"""How times stand in a verdict: RFC 3339, UTC, always six digits, null where there is none."""

from __future__ import annotations

from attribution_lib.rfc3339 import format_instant

__all__ = ["rfc3339"]


def rfc3339(microseconds: int | None) -> str | None:
    """``2026-06-01T03:14:02.000000Z`` of µs since the epoch; None stays None, as does what no calendar holds."""
    if microseconds is None:
        return None
    try:
        return format_instant(microseconds)
    except OverflowError:
        return None
