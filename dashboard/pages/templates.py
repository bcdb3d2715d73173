"""Templates: escaped by default, strict about names, and hostile characters written out before a page is made."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from attribution_lib.text.escape import shown
from dashboard.building.words import symptom_words
from dashboard.picture.axis import duration

if TYPE_CHECKING:
    from dashboard.picture.model import DrawnEdge

__all__ = ["environment"]


@cache
def environment() -> Environment:
    """The environment that every page is made with; immutable once made."""
    made = Environment(
        loader=PackageLoader("dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "num": _number,
        "curve": _curve,
        "cut": cut,
        "when": when,
        "words": words,
        "counted": counted,
        "duration": duration,
        "plain": plain,
        "prose": prose,
        "symptom": symptom_words,
        "after": after,
    }
    return made


def _finalized(value: Any) -> Any:
    r"""Control, bidi and invisible characters as ``\x1b``; what templates themselves made stays. None is nothing."""
    if value is None:
        return ""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _curve(edge: DrawnEdge) -> Markup:
    """The path of an arrow."""
    return Markup("M{} {}C{} {} {} {} {} {}").format(*map(_number, edge.curve))


def cut(text: str, length: int) -> str:
    """At most so many characters, with an ellipsis for the rest."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def after(text: str, word: str) -> str:
    """What a sentence says after a word that stands above it already: ``High confidence; it rests on …``."""
    rest = text.partition(word)[2].lstrip(" :;")
    return f"{rest[:1].upper()}{rest[1:]}"


def when(text: str | None) -> str:
    """RFC 3339 to the second for people: ``2026-06-01 03:14:02``; a dash where there is no time."""
    return "–" if not text else text[:19].replace("T", " ")


def words(name: object) -> str:
    """``gpu_out_of_memory`` as words; what people write in capitals stays so."""
    return " ".join(_CAPITALS.get(word, word) for word in str(name).split("_"))


_CAPITALS = {"gpu": "GPU", "nvlink": "NVLink", "pcie": "PCIe", "os": "OS"}


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``10,000 nodes``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plain(text: str) -> Markup:
    """Text of several lines: line ends stay, everything else is written out and escaped."""
    return Markup("\n").join(escape(shown(line)) for line in text.split("\n"))


def prose(text: str) -> Markup:
    """Text of our rules: like ``plain``, and what stands between backticks is code."""
    return Markup(_CODE.sub(r"<code>\2</code>", str(plain(text))))  # noqa: S704 -- escaped before, and the pattern adds a tag only


_CODE = re.compile(r"(`{1,2})([^`\n]+)\1")
