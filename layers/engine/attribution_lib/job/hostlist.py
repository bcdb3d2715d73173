"""Node lists as schedulers print them: ``node[0001-0128,0200],gpu-7`` expanded, with hostile patterns refused first."""

from __future__ import annotations

import re
from math import prod

import hostlist

__all__ = ["MAX_NODES", "HostlistError", "expand_nodes"]

MAX_NODES = 20_000
_MAX_TEXT = 2_000_000
_MAX_BRACKETS = 8
"""Bracketed parts of one name; Slurm itself allows a handful of dimensions."""
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_BETWEEN_NAMES = re.compile(r"[,\s]+(?![^\[\]]*\])")
"""A comma, or the blanks and line ends that `scontrol show hostnames` and people put between names."""
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


class HostlistError(ValueError):
    """A host list that is malformed or names more nodes than a job may have; its text says which."""


def expand_nodes(text: str, *, limit: int = MAX_NODES) -> list[str]:
    """The names a host list stands for, in its order and without repeats; ``HostlistError`` when refused.

    The count is worked out before anything is expanded, so ``n[1-999999999]`` costs nothing.
    """
    if len(text) > _MAX_TEXT:
        msg = f"host list of {len(text)} characters; at most {_MAX_TEXT}"
        raise HostlistError(msg)
    parts = [part for part in _BETWEEN_NAMES.split(text) if part]
    total = sum(_count(part) for part in parts)
    if total > limit:
        msg = f"host list names {total} nodes; at most {limit}"
        raise HostlistError(msg)
    try:
        names: list[str] = hostlist.expand_hostlist(",".join("".join(part.split()) for part in parts))
    except hostlist.BadHostlist as error:
        msg = f"malformed host list: {error}"
        raise HostlistError(msg) from error
    return names


def _count(part: str) -> int:
    """How many names one comma-free part stands for."""
    brackets = _BRACKET.findall(part)
    if len(brackets) > _MAX_BRACKETS:
        msg = f"more than {_MAX_BRACKETS} bracketed ranges in one name"
        raise HostlistError(msg)
    return prod(sum(_width(item) for item in bracket.split(",")) for bracket in brackets)


def _width(item: str) -> int:
    match = _RANGE.fullmatch(item.strip())
    if match is None:
        msg = f"bad range {item[:40]!r}"
        raise HostlistError(msg)
    low, high = match.groups()
    return 1 if high is None else max(0, int(high) - int(low)) + 1
