"""Environment variables that look like ours and are none: a misspelt one would be ignored without a word."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING

from attribution_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["unknown_variables"]

_PREFIX = "ATTRIBUTION_"
_OTHERS = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        "ATTRIBUTE_FUNCTION",
        "BUCKET",
        "CALLERS",
        "CLUSTERS_CLAIM",
        "CONFIG",
        "RULES_CACHE",
        "SERVICE_URL",
        "SESSIONS_TABLE",
        "TOKEN",
        "VERDICTS_TABLE",
    )
)
"""Variables beside the settings of the service."""


def unknown_variables(names: Iterable[str]) -> list[str]:
    """What to say of each ``ATTRIBUTION_…`` variable that nothing reads."""
    known = sorted(_OTHERS | {_PREFIX + setting.name.upper() for setting in fields(Settings)})
    said = []
    for name in sorted(names):
        if name.startswith(_PREFIX) and name not in known:
            near = get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]}?" if near else "the operator's guide lists those there are"
            said.append(f"{name}: is not read by anything; {meant}")
    return said
