"""Derives from a pattern the wider one that the accelerator gets: simpler, never stricter, few reports a line.

Every step may only make the pattern accept more. A line that the author's pattern matches must be reported at least
once; where in the line the report ends does not matter, because confirmation looks around it.
"""

from __future__ import annotations

from functools import lru_cache

from attribution_lib.match.byteset import ANY, ByteSet
from attribution_lib.match.literals import telling_literals
from attribution_lib.match.syntax import Assertion, Choice, Node, Repeat, Sequence, UnsupportedSyntaxError

__all__ = ["literal_length", "may_be_empty", "render", "widen"]

_MAX_BOUND = 16
"""Counts above are opened up."""
_WIDE = 128
"""A class of at least so many bytes says next to nothing."""
_STRONG = 6
"""A literal of at least so many bytes is rare enough to start from."""
_USABLE = 4
"""A literal of fewer bytes is better not started from."""
_EMPTY = Sequence()


def widen(node: Node) -> Node:
    """Telling literals if there are any; else the tree without optional ends, weak starts and large counts."""
    opened = _open_counts(_without_inner_anchors(node, first=True, last=True))
    literals = telling_literals(opened)
    if literals:
        return literals[0] if len(literals) == 1 else Choice(tuple(literals))
    return _cut_weak_start(_trim(_trim(opened, at_end=False), at_end=True))


def _without_inner_anchors(node: Node, *, first: bool, last: bool) -> Node:
    """Hyperscan takes line starts only where a pattern begins and line ends only where it ends."""
    match node:
        case Assertion.LINE_START:
            return node if first else _EMPTY
        case Assertion.LINE_END:
            return node if last else _EMPTY
        case Sequence(items):
            end = len(items) - 1
            parts = [
                _without_inner_anchors(item, first=first and index == 0, last=last and index == end)
                for index, item in enumerate(items)
            ]
            return _join(parts)
        case Choice(options):
            return Choice(tuple(_without_inner_anchors(option, first=first, last=last) for option in options))
        case Repeat(item, low, high):
            return Repeat(_without_inner_anchors(item, first=False, last=False), low, high)
        case _:
            return node


def _open_counts(node: Node) -> Node:
    """Large bounds make large automata: ``.{0,200}`` becomes ``.*`` and ``[0-9a-f]{40}`` sixteen or more."""
    match node:
        case Sequence(items):
            return _join([_open_counts(item) for item in items])
        case Choice(options):
            return Choice(tuple(_open_counts(option) for option in options))
        case Repeat(item, low, high):
            bounded = high if high is not None and high <= _MAX_BOUND else None
            return Repeat(_open_counts(item), min(low, _MAX_BOUND), bounded)
        case _:
            return node


def _join(items: list[Node]) -> Node:
    flat: list[Node] = []
    for item in items:
        if isinstance(item, Sequence):
            flat.extend(item.items)
        else:
            flat.append(item)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _trim(node: Node, *, at_end: bool) -> Node:
    """Without what may be absent at one end. Only correct where nothing stands beyond that end."""
    match node:
        case Sequence(items):
            return _trim_sequence(list(items), at_end=at_end)
        case Choice(options):
            trimmed = [_trim(option, at_end=at_end) for option in options]
            # (?:^|[\s:]) at the start: without it the scan is a third faster, and confirmation knows better anyway.
            anchored = not at_end and any(isinstance(option, Assertion) for option in trimmed)
            return _EMPTY if anchored or _EMPTY in trimmed else Choice(tuple(trimmed))
        case Repeat(_, 0, _):
            return _EMPTY
        case Repeat(item, 1, _):
            return _trim(item, at_end=at_end)
        case Repeat(item, low, _):
            return Repeat(item, low, low)
        case _:
            return node


def _trim_sequence(items: list[Node], *, at_end: bool) -> Node:
    edge = -1 if at_end else 0
    while items:
        if isinstance(items[edge], Assertion) and len(items) > 1 and _is_loose(items[-2 if at_end else 1]):
            items.pop(edge)
        trimmed = _trim(items[edge], at_end=at_end)
        items[edge] = trimmed
        if trimmed != _EMPTY:
            break
        items.pop(edge)
    return _join(items)


def _is_loose(node: Node) -> bool:
    """Whether a line start, line end or word boundary beside this says next to nothing, and costs a lot."""
    if isinstance(node, Sequence):
        return bool(node.items) and _is_loose(node.items[0])
    if not isinstance(node, Repeat):
        return False
    if isinstance(node.item, ByteSet):
        return node.high is None and node.item.mask.bit_count() >= _WIDE
    return node.low == 0


def _cut_weak_start(node: Node) -> Node:
    """Begin at the first strong literal where what stands before it would keep the scan busy on every line.

    With ``: .*Bus Error`` an automaton starts at each colon of the text; ``Bus Error`` alone runs five times faster.
    """
    if isinstance(node, Choice):
        return Choice(tuple(_cut_weak_start(option) for option in node.options))
    if not isinstance(node, Sequence):
        return node
    runs = _literal_runs(node.items)
    wanted = min(_STRONG, max((length for _, length in runs), default=0))
    if wanted < _USABLE:
        return node
    start = next(start for start, length in runs if length >= wanted)
    head = Sequence(node.items[:start])
    anchored = all(isinstance(item, Assertion) for item in head.items)
    costly = not anchored and (_is_unbounded(head) or literal_length(head) <= 1)
    return _join(list(node.items[start:])) if costly else node


def _literal_runs(items: tuple[Node, ...]) -> list[tuple[int, int]]:
    """(index, literal length) of each stretch of single letters and of each other part."""
    runs: list[tuple[int, int]] = []
    index = 0
    while index < len(items):
        end = index
        while end < len(items) and _is_letter(items[end]):
            end += 1
        if end == index:
            end += 1
            runs.append((index, literal_length(items[index])))
        else:
            runs.append((index, end - index))
        index = end
    return runs


def _is_letter(node: Node) -> bool:
    return isinstance(node, ByteSet) and 1 <= node.mask.bit_count() <= 2  # noqa: PLR2004 -- one letter in both cases


def literal_length(node: Node) -> int:
    """How many consecutive letters every match of this surely holds."""
    match node:
        case Sequence(items):
            return max((length for _, length in _literal_runs(items)), default=0)
        case Choice(options):
            return min(literal_length(option) for option in options)
        case Repeat(item, low, _):
            return literal_length(item) if low else 0
        case _:
            return int(_is_letter(node))


def may_be_empty(node: Node) -> bool:
    """Whether the empty text matches."""
    match node:
        case Sequence(items):
            return all(may_be_empty(item) for item in items)
        case Choice(options):
            return any(may_be_empty(option) for option in options)
        case Repeat(item, low, _):
            return low == 0 or may_be_empty(item)
        case _:
            return isinstance(node, Assertion)


def _is_unbounded(node: Node) -> bool:
    match node:
        case Sequence(items):
            return any(_is_unbounded(item) for item in items)
        case Choice(options):
            return any(_is_unbounded(option) for option in options)
        case Repeat(item, _, high):
            return high is None or _is_unbounded(item)
        case _:
            return False


def render(node: Node) -> str:
    """The tree in the accelerator's syntax; ASCII only, without captures."""
    match node:
        case Sequence(items):
            return "".join(_render_part(item) for item in items)
        case Choice(options):
            return "|".join(render(option) for option in options)
        case _:
            return _render_part(node)


def _render_part(node: Node) -> str:
    match node:
        case ByteSet():
            return _render_set(node)
        case Assertion():
            return str(node)
        case Repeat(item, low, high):
            unit = _render_part(item) if isinstance(item, ByteSet) else f"(?:{render(item)})"
            return unit + _render_bounds(low, high)
        case _:
            return f"(?:{render(node)})"


def _render_bounds(low: int, high: int | None) -> str:
    if (low, high) == (1, 1):
        return ""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short:
        return short
    if high is None:
        return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


@lru_cache(maxsize=1024)
def _render_set(members: ByteSet) -> str:
    if members == ANY:
        return "."
    values = members.values()
    if not values:
        message = "it asks for a line end within a line"
        raise UnsupportedSyntaxError(message)
    if len(values) == 1:
        return _render_byte(values[0])
    ranges: list[list[int]] = []
    for value in values:
        if ranges and ranges[-1][1] == value - 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return "[" + "".join(_render_range(first, last) for first, last in ranges) + "]"


def _render_range(first: int, last: int) -> str:
    if first == last:
        return _render_byte(first)
    return f"{_render_byte(first)}-{_render_byte(last)}"


def _render_byte(byte: int) -> str:
    char = chr(byte)
    return char if char.isascii() and char.isalnum() else f"\\x{byte:02x}"
