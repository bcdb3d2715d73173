"""Which nodes stand beside one another: consecutive numbers of one name pattern."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Place", "place_of"]

_LAST_NUMBER = re.compile(r"(.*?)(\d{1,12})(\D*)", re.DOTALL)


class Place(NamedTuple):
    """A name taken apart at the last number of its first label: ``gpu-a12-003.x`` is (``gpu-a12-``, ``.x``), 3."""

    row: tuple[str, str]
    """What is common to a row of nodes: the text before and after the number."""
    number: int


def place_of(node: str) -> Place:
    """A name without a number stands alone."""
    label, dot, domain = node.partition(".")
    found = _LAST_NUMBER.fullmatch(label)
    if found is None:
        return Place((node, ""), 0)
    return Place((found[1], found[3] + dot + domain), int(found[2]))
