"""Lines that are a JSON object around a message: Docker's json-file, journalctl -o json, Loki, structured loggers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.text.stamps import stamp_of

if TYPE_CHECKING:
    from attribution_lib.text.prefix_forms import Draft

__all__ = ["read_json_line"]

_MESSAGE_KEYS = ("log", "MESSAGE", "message", "msg")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "__REALTIME_TIMESTAMP")
_NODE_KEYS = ("_HOSTNAME", "hostname", "host", "node", "node_name", "nodename")
_PROGRAM_KEYS = ("SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "unit")
_PID_KEYS = ("_PID", "pid")
_RANK_KEYS = ("rank", "global_rank")
_KEYS = (*_MESSAGE_KEYS, *_TIME_KEYS, *_NODE_KEYS, *_PROGRAM_KEYS, *_PID_KEYS, *_RANK_KEYS)
_PAIR = re.compile(
    rf'"(?P<key>{"|".join(map(re.escape, _KEYS))})"\s*:\s*'
    r'(?:"(?P<text>(?:[^"\\]|\\.)*+)|(?P<number>\d{1,20}(?:\.\d{1,9})?))'
)
_LOKI_VALUE = re.compile(r'\[\s*"(?P<time>\d{19})"\s*,\s*"')
_SMALL_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_LIMIT = 1 << 16
"""Characters of a line that are looked at."""


def read_json_line(line: str, start: int, draft: Draft) -> int:
    """Writes what the object that begins at ``start`` says into the draft; returns where its message begins.

    That is ``start`` itself when no message field is known. The message keeps its JSON escapes.
    """
    body = start
    for match in _PAIR.finditer(line, start, start + _LIMIT):
        key, text = match["key"], match["text"]
        if key in _MESSAGE_KEYS:
            if body == start and text is not None:
                body = match.start("text")
        else:
            _take(key, text, match["number"], draft)
    if body == start:
        values = list(_LOKI_VALUE.finditer(line, start, start + _LIMIT))
        if len(values) == 1:  # of several entries in one line nothing says which was hit
            draft.set_stamp(stamp_of(values[0]["time"]))
            body = values[0].end()
    draft.forms += 1
    return body


def _take(key: str, text: str | None, number: str | None, draft: Draft) -> None:
    value = text or number or ""
    if key in _TIME_KEYS:
        draft.set_stamp(stamp_of(value))
    elif key in _NODE_KEYS:
        draft.node = draft.node or text or None
    elif key in _PROGRAM_KEYS:
        draft.program = draft.program or text or None
    elif _SMALL_NUMBER.fullmatch(value):
        if key in _PID_KEYS and draft.pid is None:
            draft.pid = int(value)
        elif key in _RANK_KEYS and draft.rank is None:
            draft.rank = int(value)
