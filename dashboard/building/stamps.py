"""Why the line that decided has no time, as far as the lines themselves tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.events.event import Clock
from attribution_lib.observation import Source
from attribution_lib.text.escape import shown
from attribution_lib.text.prefixes import parse_prefix

if TYPE_CHECKING:
    from attribution_lib.verdict import RootCause

__all__ = ["time_note"]

_LONGEST = 60
_UNPLACED = {
    Clock.YEARLESS: "its stamp names no year, and neither the job nor another line does",
    Clock.UPTIME: "its stamp counts from a start of the node whose time is not known",
}


def time_note(root: RootCause) -> str:
    """Half a sentence for a line without a time: what keeps its stamp from being placed, or after which line it stands.

    A traceback is printed without stamps: the stamp of the nearest line above is quoted as it stands there.
    """
    if root.timestamp is not None or root.source not in list(Source):
        return ""
    source = Source(root.source)
    own = parse_prefix(root.evidence, source)
    if own.timestamp is not None:
        return _UNPLACED.get(own.clock, "")
    for line in reversed(root.context.before):
        above = parse_prefix(line, source)
        if above.timestamp is not None:
            stamp = line[: above.body_start].strip()
            return f"after a line that begins with `{shown(stamp)}`" if 0 < len(stamp) <= _LONGEST else ""
    return ""
