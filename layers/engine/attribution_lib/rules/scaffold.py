"""A new rule from one log line: what varies is proposed as a wildcard or a group, the rest is escaped."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from attribution_lib.text.prefixes import parse_prefix

if TYPE_CHECKING:
    from attribution_lib.observation import Source

__all__ = ["PLACEHOLDERS", "Placeholders", "Scaffold", "scaffold_rule"]

_VARIABLE = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?P<pci>\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-9a-f])?\b)"
    r"|(?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
    r"|(?P<address>\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d+)?\b)"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b)"
    r"|(?P<path>(?<![\w.])(?:/[\w.+@-]+){2,}/?)"
    r"|(?P<host>\b[a-z]+(?:-[a-z]+)*-?\d{2,}\b)"
    r"|(?P<rank>\brank ?\d+\b)"
    r"|(?P<number>\b\d+(?:\.\d+)?\b)",
    re.IGNORECASE,
)
_PATTERNS = {
    "stamp": r"\S+",
    "pci": r"(?P<device>[0-9a-fA-F:.]+)",
    "uuid": r"[0-9a-fA-F-]+",
    "address": r"\S+",
    "hex": r"(?:0x)?[0-9a-fA-F]+",
    "path": r"\S+",
    "host": r"(?P<node>[\w.-]+)",
    "number": r"[\d.]+",
}
_RANK = re.compile(r"(?P<word>rank ?)\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The text to append to a rule file and to the test file beside it."""

    rule: str
    test: str


@dataclass(frozen=True, slots=True)
class Placeholders:
    """What a new rule says until its author does; the lint finds what was left."""

    author: str = "name yourself"
    symptom: str = ": name it in the field's own words"
    docs: str = "What it means, usual causes, what to check next, reference."
    origin: str = "where the line came from"
    miss: str = "a line that looks alike and is none"
    because: str = "why it is none"


PLACEHOLDERS = Placeholders()
_RULE = """
[[symptom]]
name = {symptom}
outcome = "unknown"             # the failure category
rank = 400                      # how specific the cause is
scope = "job"                   # node | device | job
docs = {docs}

[[extractor]]
name = {name}
status = "staged"
sources = ["{source}"]
match_re = {pattern}
emit = {{ type = "bad_node", symptom = {symptom} }}
"""
_TEST = """
[[hit]]
line = {line}
origin = {origin}
source = "{source}"
event = "bad_node"
symptom = {symptom}

[[miss]]
line = {miss}
because = {because}
source = "{source}"
rule = {name}
"""


def scaffold_rule(name: str, line: str, source: Source) -> Scaffold:
    """A staged rule that matches this line (its prefix left out) and the line as its first hit."""
    body = line[parse_prefix(line, source).body_start :]
    pattern = r"(?:^|[\s:\]\)|>])" + _generalise(body)
    values = {
        "name": _toml_text(name),
        "symptom": _toml_text(name + PLACEHOLDERS.symptom),
        "source": source.value,
        "pattern": _toml_text(pattern) if "'''" in pattern else f"'''{pattern}'''",
        "line": _toml_text(line),
        **{key: _toml_text(text) for key, text in asdict(PLACEHOLDERS).items() if key not in ("author", "symptom")},
    }
    return Scaffold(_RULE.format(**values), _TEST.format(**values))


def _generalise(body: str) -> str:
    pieces: list[str] = []
    used: set[str] = set()
    at = 0
    for match in _VARIABLE.finditer(body):
        pieces += [_escape(body[at : match.start()]), _replacement(match, used)]
        at = match.end()
    pieces.append(_escape(body[at:]))
    return "".join(pieces).rstrip()


def _replacement(match: re.Match[str], used: set[str]) -> str:
    kind = match.lastgroup or "number"
    if kind == "rank":
        word = _RANK.sub(lambda found: _escape(found.group("word")), match.group())
        pattern = word + r"(?P<rank>\d+)"
    else:
        pattern = _PATTERNS[kind]
    for name in re.findall(r"\(\?P<(\w+)>", pattern):
        if name in used:
            pattern = pattern.replace(f"?P<{name}>", "?:")
        used.add(name)
    return pattern


def _escape(text: str) -> str:
    """``re.escape`` without the backslashes that RE2 does not need and readers do not want."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
