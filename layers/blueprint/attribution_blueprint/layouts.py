"""Files whose lines can be searched and whose facts cannot be read: what they are, and what to give in their place."""

from __future__ import annotations

import re

__all__ = ["layout_note"]

_HEAD = 1 << 14
"""Bytes that are looked at."""
_UNREAD = "of which lines are searched without their times and hosts: give"
_SAY_FACTS = "say the job's facts with --state, --exit-code, --nodes, or let --job ID without files ask the scheduler"
_NOTES = (
    (
        re.compile(rb"(?m)^[ |]*JobID\b[^\n]*\bState\b[^\n]*\bExitCode\b"),
        f"is a table of sacct, which counts as scheduler text at most: {_SAY_FACTS}",
    ),
    (
        re.compile(rb"(?:\A|\n\n)(?:__\w+=[^\n]*\n){2}"),
        f"is a journal's export, {_UNREAD} journalctl -o json",
    ),
    (
        re.compile(rb'\A\s*\{\s*\n\s*"(?:__|_[A-Z]|[A-Z])[A-Z_]+" ?:'),
        f"is a journal in json-pretty, {_UNREAD} journalctl -o json",
    ),
    (
        re.compile(rb'\A\s*\{\s*\n\s*"apiVersion": "v1",\s*\n\s*"items": \['),
        f"is kubectl's JSON, {_UNREAD} the table that kubectl get events prints",
    ),
)


def layout_note(data: bytes) -> str:
    """What is to be said of data in a layout that is not read as such; empty for any log."""
    head = data[:_HEAD]
    return next((note for form, note in _NOTES if form.search(head)), "")
