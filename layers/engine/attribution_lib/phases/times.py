"""How times leave the engine: RFC 3339, UTC, always six digits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["rfc3339"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(microseconds: int | None) -> str | None:
    """``2026-06-01T03:14:02.000000Z`` of µs since the epoch; None stays None, as does what no calendar holds."""
    if microseconds is None:
        return None
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment.year >= 1000 else None  # noqa: PLR2004 -- %Y pads from there on
