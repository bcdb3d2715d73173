"""Multi-line extractors: feed the lines that follow a trigger until the state machine opts out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.text.prefixes import parse_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Source
    from attribution_lib.rules.model import Accumulator, AccumulatorRule, Emission
    from attribution_lib.text.lines import TextBuffer
    from attribution_lib.text.prefixes import Prefix

__all__ = ["Segment", "run_accumulator"]

MAX_LINES = 2_000
MAX_BYTES = 64 * 1024
_MEMORY = 16_384
"""How many prefixes are remembered before the memory starts afresh."""
Segment = tuple[int, int]
"""Bounds of one line in the buffer."""


def run_accumulator(  # noqa: PLR0913 -- trigger, its place and its reader; all needed once, at one call site
    rule: AccumulatorRule,
    *,
    job: JobIdentity,
    captures: Mapping[str, str],
    buffer: TextBuffer,
    trigger: Segment,
    prefix: Prefix,
    source: Source,
    memory: dict[int, Prefix],
) -> Iterable[tuple[Emission, Segment]]:
    """The emissions of one triggered accumulator, each with the line that is its evidence.

    Lines of other ranks or nodes in between are skipped; they count towards the limit of 2,000 lines or 64 KiB.
    ``memory`` keeps the prefixes of lines that several accumulators pass, by the line's offset.
    """
    line = buffer.decode(*trigger)
    accumulator = rule.factory(job, captures, line[prefix.body_start :])
    fed = [trigger]
    complete = _is_complete(accumulator)
    if not complete:
        for segment, body in _following(buffer, trigger, prefix, source, memory):
            if not accumulator.feed(body):
                complete = True
                break
            fed.append(segment)
            complete = _is_complete(accumulator)
            if complete:
                break
    for emission in accumulator.finalize(truncated=not complete):
        index = emission.line_index
        yield emission, fed[index] if 0 <= index < len(fed) else trigger


def _is_complete(accumulator: Accumulator) -> bool:
    """Whether it has seen its last line: one that its trigger's line completes costs no look at the next."""
    return bool(getattr(accumulator, "complete", False))


def _following(
    buffer: TextBuffer, trigger: Segment, prefix: Prefix, source: Source, memory: dict[int, Prefix]
) -> Iterator[tuple[Segment, str]]:
    """Bodies of the lines after the trigger that carry the same rank and node prefix."""
    position = trigger[1] + 1
    budget = MAX_BYTES
    for _ in range(MAX_LINES):
        if position >= len(buffer.data) or budget <= 0:
            return
        start, end = buffer.segment(position)
        position = end + 1
        if start == end:  # CRLF leaves an empty segment after each line
            continue
        budget -= end - start
        stop = min(end, start + max(budget, 0) + 1)
        own = memory.get(start)
        if own is None:
            own = parse_prefix(buffer.decode(start, stop), source)
            if stop == end:
                if len(memory) >= _MEMORY:
                    memory.clear()
                memory[start] = own
        if own.rank == prefix.rank and own.node == prefix.node and own.task == prefix.task:
            yield (start, end), buffer.decode(start, stop)[own.body_start :]
