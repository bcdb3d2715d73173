"""The types of settings: what a value may look like on a command line, in a variable and in TOML alike."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

__all__ = [
    "Accepted",
    "ComponentSettings",
    "FilePaths",
    "OptionalPath",
    "Pairs",
    "PathMark",
    "Seconds",
    "Secret",
    "SettingsGroup",
    "Size",
    "Texts",
]

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw]?)\s*", re.IGNORECASE)
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SIZE = re.compile(r"\s*(\d+)\s*((?:[kmg]i?)?)b?\s*", re.IGNORECASE)


class PathMark:
    """Marks a setting whose relative values are read from where they were written: the TOML file's folder."""


class Accepted:
    """What a setting accepts, in words, where its Python type does not say it."""

    def __init__(self, words: str) -> None:
        self.words = words


def _texts(value: Any) -> Any:
    """``"a,b"`` is a list of two; commas within brackets belong to a host list."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, list | tuple):
        return [str(part) if isinstance(part, int) and not isinstance(part, bool) else part for part in value]
    if not isinstance(value, str):
        return value
    return [part.strip() for part in re.split(r",(?![^\[]*\])", value) if part.strip()]


def _pairs(value: Any) -> Any:
    """``"a=1,b=2"`` is a table of two."""
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(sign for _, sign, _ in pairs):
        msg = "expected name=value pairs with commas between"
        raise ValueError(msg)
    return {name.strip(): text.strip() for name, _, text in pairs}


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, int | float) and value < 0):
        msg = "expected a duration such as 90, 90s, 15m, 2h or 7d"
        raise ValueError(msg)
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value)
    if found is None:
        msg = "expected a duration such as 90, 90s, 15m, 2h or 7d"
        raise ValueError(msg)
    return float(found[1]) * _UNITS[found[2].lower()]


def _size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _SIZE.fullmatch(value)
    if found is None:
        msg = "expected a size such as 500000, 8MiB or 1GB"
        raise ValueError(msg)
    return int(found[1]) * _SIZES[found[2].lower()]


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts), Accepted("a list, or text with commas")]
Pairs = Annotated[dict[str, str], BeforeValidator(_pairs), Accepted("a table, or text such as a=1,b=2")]
Seconds = Annotated[float, BeforeValidator(_seconds), Accepted("seconds, or a duration such as 15m")]
Size = Annotated[int, BeforeValidator(_size), Field(ge=1), Accepted("bytes, or a size such as 8MiB")]
FilePaths = Annotated[tuple[str, ...], BeforeValidator(_texts), PathMark(), Accepted("a list of paths")]
OptionalPath = Annotated[str, PathMark(), Accepted("a path; empty for none")]
Secret = SecretStr
"""Never printed: ``config --show`` masks it."""


class SettingsGroup(BaseModel):
    """Base of all settings: one field a key, with its type, default and a sentence of description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ComponentSettings(SettingsGroup):
    """Base of the settings of a component: each instance can be left out."""

    enabled: bool = Field(default=True, description="False leaves this instance out.")
