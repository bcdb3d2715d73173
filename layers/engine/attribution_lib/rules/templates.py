"""Templates of emissions: ``{name}`` is replaced, everything else is kept as written."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Template", "compile_template", "fill", "placeholders", "render"]

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

Template = tuple[tuple[str, str], ...]
"""(literal, name) pairs: the literal text before a placeholder, and the placeholder ("" for a literal tail)."""


def placeholders(text: str) -> list[str]:
    """The names between braces, in order."""
    return _PLACEHOLDER.findall(text)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders that ``values`` knows; leave every other brace alone (it may be regex)."""
    return _PLACEHOLDER.sub(lambda match: values.get(match.group(1), match.group()), text)


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    """The parts of a template, for repeated rendering with ``render``."""
    pieces = _PLACEHOLDER.split(text)
    pairs = [(pieces[i], pieces[i + 1]) for i in range(0, len(pieces) - 1, 2)]
    if pieces[-1]:
        pairs.append((pieces[-1], ""))
    return tuple(pairs)


def render(template: Template, values: Mapping[str, str]) -> str:
    """Fill every placeholder; one without a value becomes nothing."""
    if len(template) == 1:
        literal, name = template[0]
        return literal + values.get(name, "") if name else literal
    return "".join(literal + values.get(name, "") if name else literal for literal, name in template)
