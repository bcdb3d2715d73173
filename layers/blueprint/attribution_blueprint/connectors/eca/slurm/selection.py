"""Which jobs are meant: ids, or a stretch of time with users and partitions. Checked, since they become arguments."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from attribution_blueprint.connectors.eca.base import AdapterSettings
from attribution_blueprint.setting_types import FilePaths, Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SlurmSelection", "local_timezone", "moment"]

_ID = re.compile(r"\d{1,10}(?:_(?:\d{1,10}|\[[\d,-]{1,200}\])|\+\d{1,5})?|s[0-9A-Za-z]{8,20}")
_NAME = re.compile(r"[\w.@$][\w.@$-]{0,63}")
_AGO = re.compile(r"\s*(\d{1,7}(?:\.\d+)?)\s*([smhdw])\s*", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class SlurmSelection(AdapterSettings):
    """Which jobs of a Slurm cluster."""

    ids: Texts = Field(default=(), description="Job ids, as 4711, 4711_3 or a SLUID; whatever their state.")
    since: str = Field(default="", description="Jobs that ended since: 2h, 7d, or an RFC 3339 time.")
    until: str = Field(default="", description="… and until; empty: now.")
    failed_only: bool = Field(default=True, description="With since: leave out jobs that completed.")
    users: Texts = Field(default=(), description="With since: only jobs of these users.")
    partitions: Texts = Field(default=(), description="With since: only jobs of these partitions.")
    timezone: str = Field(default="", description="Zone of times without an offset in logs; empty: this machine's.")
    output: FilePaths = Field(
        default=(), description="Patterns of output files where Slurm does not say (before 24.05)."
    )
    superseded_output: bool = Field(
        default=False, description="Read output files for earlier attempts too (JobFileAppend = 1)."
    )

    @model_validator(mode="after")
    def _selected(self) -> SlurmSelection:
        _check(self.ids, _ID, "ids", "no job id; expected ids such as 4711, 4711_3 or a SLUID")
        for names, what in ((self.users, "users"), (self.partitions, "partitions")):
            _check(names, _NAME, what, "no name; expected letters, digits and . _ - @ $")
        for what, text in (("since", self.since), ("until", self.until)):
            if text and moment(text, 0) is None:
                msg = f"{what}: {text[:60]!r}; expected 2h, 7d, or an RFC 3339 time with its offset"
                raise ValueError(msg)
        if bool(self.ids) == bool(self.since):
            msg = "ids, or since: exactly one of them"
            raise ValueError(msg)
        return self


def _check(words: Sequence[str], form: re.Pattern[str], what: str, why: str) -> None:
    wrong = next((word for word in words if form.fullmatch(word) is None), None)
    if wrong is not None:
        msg = f"{what}: {wrong[:60]!r} is {why}"
        raise ValueError(msg)


def moment(text: str, now: float) -> int | None:
    """Seconds since the epoch of ``2h`` ago or of an RFC 3339 time with its offset; None when it is neither."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return int(now - float(ago[1]) * _UNITS[ago[2].lower()])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(found.astimezone(UTC).timestamp()) if found.utcoffset() is not None else None


def local_timezone() -> str:
    """The name of this machine's time zone; UTC when it has none that is known by name."""
    name = time.tzname[0]
    try:
        with open("/etc/timezone", encoding="utf-8") as file:  # noqa: PTH123 -- one line of one file
            name = file.read(200).strip() or name
        return ZoneInfo(name).key
    except (OSError, ValueError, KeyError):
        return "UTC"
