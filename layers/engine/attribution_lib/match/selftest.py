"""Known (pattern, text, expected) pairs that any matcher must get right before it is trusted with evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from attribution_lib.match.pattern import compile_confirm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.match.matcher import MatcherFactory

__all__ = ["KNOWN_PAIRS", "KnownPair", "failures"]

_PREFIX = b"2026-06-01 03:14:02,123 - ERROR - trainer.loop"


class KnownPair(NamedTuple):
    """A pattern, a text, and the indices of the text's lines in which the pattern is found."""

    pattern: str
    text: bytes
    lines: tuple[int, ...]


def _repeated(line: bytes, count: int = 5) -> bytes:
    return (line + b"\n") * count


_ALL = (0, 1, 2, 3, 4)
_VALUE_ERROR = r"^(?:.*?:\s)?ValueError: "

KNOWN_PAIRS: tuple[KnownPair, ...] = (
    # Vectorscan 5.4.12 finds none of these five; 5.4.11 all.
    KnownPair(_VALUE_ERROR, _repeated(_PREFIX + b": ValueError: bad value"), _ALL),
    KnownPair(_VALUE_ERROR, _repeated(b"ValueError: bad value"), _ALL),
    KnownPair(_VALUE_ERROR, _repeated(b"x" * 200 + b": ValueError: bad value"), _ALL),
    KnownPair(_VALUE_ERROR, _repeated(_PREFIX + b" MyValueError: bad value"), ()),
    KnownPair(
        r"(?:^|[\s:\]\)|>])KeyError: (?P<m>.*)", b"KeyError: 'a'\n[rank3]: KeyError: 'a'\nNotKeyError: 'a'", (0, 1)
    ),
    KnownPair(r"NVRM: Xid \((?P<d>[^)]+)\): (?P<c>\d+)", b"a\nkernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\nb", (1,)),
    KnownPair(r"NVRM: Xid \((?P<d>[^)]+)\): (?P<c>\d+)", b"NVRM: Xid (PCI:0000\n:3b:00): 79", ()),
    KnownPair(
        r"Segmentation fault$", b"Segmentation fault\nSegmentation fault (core dumped)\nSegmentation fault", (0, 2)
    ),
    KnownPair(r"^Aborted$", b"Aborted\n Aborted\nAborted \nAborted", (0, 3)),
    KnownPair(r"\bOOM\b", b"OOM\nBOOM\nOOMs\nan OOM-kill", (0, 3)),
    KnownPair(r"(?i)cuda out of memory", b"CUDA Out Of Memory\ncuda out of memory\ncuda out-of memory", (0, 1)),
    KnownPair(r"loss: (?P<v>nan|inf)", b"loss: 1.0\nloss: nan\nloss: inf\nloss: info", (1, 2, 3)),
    KnownPair(r"timeout after (?P<s>\d{3,})s", b"timeout after 12s\ntimeout after 1800s", (1,)),
    KnownPair(
        r"failed: [^:]+: errno=\d+", b"failed: recv: errno=104\nfailed: \xff\xfe: errno=5\nfailed: : errno=5", (0, 1)
    ),
    KnownPair(r"worker\s+exited", b"worker \t exited\nworker\nexited", (0,)),
    KnownPair(r"a{2,3}b*end", b"aab end\naaend\naaabbbend\naend", (1, 2)),
    KnownPair(r"first.*second", b"first\nsecond\nfirst and second\nsecond then first", (2,)),
    KnownPair(r"\.cpp:\d+\] \[Rank \d+\]", b"NCCL.cpp:828] [Rank 3] x\nNCCL.cpp:] [Rank 3] x", (0,)),
    KnownPair(r"(?:peer|node) (?P<n>\S+) (?:is )?gone", b"peer n1 is gone\nnode n2 gone\nnode is away", (0, 1)),
    KnownPair(r"needle", b"x" * 70_000 + b"needle" + b"y" * 70_000 + b"\n" + b"z" * 70_000, (0,)),
    KnownPair(r"needle", b"", ()),
)
"""Kept small: the pairs run whenever a matcher is built."""


def failures(factory: MatcherFactory) -> Iterator[str]:
    """What the matchers that ``factory`` builds get wrong, in words; nothing when they can be trusted."""
    patterns = list(dict.fromkeys(pair.pattern for pair in KNOWN_PAIRS))
    matcher = factory(patterns, ())
    for pair in KNOWN_PAIRS:
        index = patterns.index(pair.pattern)
        confirm = compile_confirm(pair.pattern)
        starts = _line_starts(pair.text)
        found = {
            starts.index(hit.start)
            for hit in matcher.scan(pair.text)
            if hit.pattern == index
            and confirm.search(pair.text[hit.start : hit.end], hit.hit_end - hit.start) is not None
        }
        if found != set(pair.lines):
            yield f"{pair.pattern!r} found in lines {sorted(found)} instead of {list(pair.lines)} of {pair.text[:60]!r}"


def _line_starts(text: bytes) -> list[int]:
    return [0, *(found.end() for found in re.finditer(b"\n", text))]
