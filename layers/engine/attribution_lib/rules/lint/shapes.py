"""What checks want to know about the shape of a pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.match.byteset import ByteSet
from attribution_lib.match.syntax import Choice, Repeat, Sequence, UnsupportedSyntaxError, parse
from attribution_lib.match.widen import literal_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.match.syntax import Node
    from attribution_lib.rules.model import TextRule

__all__ = ["literals", "required_literal", "starts_loose", "states_of", "tree_of", "words_of"]

_WORD = re.compile(r"[a-z0-9_]{4,}")
_BOTH_CASES = 2


def tree_of(rule: TextRule) -> Node | None:
    """The tree of a rule's pattern; None for syntax that the accelerator cannot read either."""
    try:
        return parse(rule.match_re, rule.engine)
    except UnsupportedSyntaxError:
        return None


def required_literal(tree: Node) -> int:
    """The length of the longest text that every match holds."""
    return literal_length(tree)


def literals(tree: Node) -> Iterator[str]:
    """Every stretch of fixed text in a pattern, lower-cased, whether required or one of several options."""
    match tree:
        case Sequence(items):
            yield from _runs(items)
        case Choice(options):
            for option in options:
                yield from literals(option)
        case Repeat(item, _, _):
            yield from literals(item)
        case _:
            yield from _runs((tree,))


def _runs(items: tuple[Node, ...]) -> Iterator[str]:
    run = ""
    for item in items:
        letter = _letter(item)
        if letter:
            run += letter
            continue
        if run:
            yield run
        run = ""
        if not isinstance(item, ByteSet) and isinstance(item, Sequence | Choice | Repeat):
            yield from literals(item)
    if run:
        yield run


def _letter(node: Node) -> str:
    if not isinstance(node, ByteSet):
        return ""
    letters = {chr(byte).lower() for byte in node.values()} if node.mask.bit_count() <= _BOTH_CASES else set()
    return letters.pop() if len(letters) == 1 else ""


def words_of(tree: Node) -> frozenset[str]:
    """The words of four letters or more among the fixed text of a pattern, lower-cased."""
    return frozenset(word for literal in literals(tree) for word in _WORD.findall(literal))


def starts_loose(tree: Node) -> bool:
    """True when a pattern begins with something that matches anything any number of times."""
    match tree:
        case Sequence(items):
            return bool(items) and starts_loose(items[0])
        case Choice(options):
            return any(starts_loose(option) for option in options)
        case Repeat(ByteSet() as members, _, None):
            return members.mask.bit_count() > _ANYTHING
        case Repeat(item, _, _):
            return starts_loose(item)
        case _:
            return False


_ANYTHING = 252
"""A class of more bytes than this is "anything"; ``\\S+`` in front is a word that the rule may want to capture."""


def states_of(tree: Node) -> int:
    """About how many states a pattern costs once its counted repeats are written out."""
    match tree:
        case Sequence(items):
            return sum(states_of(item) for item in items)
        case Choice(options):
            return sum(states_of(option) for option in options)
        case Repeat(item, low, high):
            return states_of(item) * max(low, high or 0, 1)
        case _:
            return 1
