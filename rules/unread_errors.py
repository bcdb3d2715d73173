"""Lines that no rule knows: an exception class that nobody listed, and what a program itself calls an error."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

from common.application import AUTHOR, UNCAUGHT
from common.unread import ERROR_LINE, earliest, is_unread, unread_error_lines

from attribution_lib.rule_api import Emission, EventType, FilterPriority, accumulator_def, filter_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rule_api import FilterContext, JobIdentity

_UNREAD = "Error line that no rule reads"
_CLASS = re.compile(r"\s*(?P<exception>[A-Z][a-z]\w*(?:Error|Exception)):[ \t]+(?P<message>\S.*)")
_HARMLESS = re.compile(
    r"Unable to register cu\w+ factory|computation placer already registered|\b0 errors?\b"
    r"|(?i:retry|retries|ignor|skipp)|\] +(?:Traceback |File \"|\^|~|\w+ ?= |raise |return |During handling )"
)
"""What frameworks print at level E in every run, and errors that somebody tries again or passes over."""
_MESSAGE = 500


class OneLine:
    """A finding that its first line holds whole."""

    complete = True

    def __init__(self, emission: Emission | None) -> None:
        self._emission = emission

    def feed(self, _line: str) -> bool:
        """Nothing after the first line belongs to it."""
        return False

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:  # noqa: ARG002 -- the protocol of accumulators
        """What the line says, if anything."""
        if self._emission is not None:
            yield self._emission


@accumulator_def(
    "ExceptionWithoutStack",
    AUTHOR,
    trigger_re=r"(?:^|[\]:)>|] )[A-Z][a-z]\w*(?:Error|Exception):[ \t]+\S",
    sources=("applog",),
    key=("exception", "message"),
)
def exception_without_stack(_job: JobIdentity, _captures: Mapping[str, str], line: str) -> OneLine:
    """An exception of a class of the program's own, where its traceback was cut off: it begins the line.

    Python's own classes stand in python.toml.
    """
    found = _CLASS.match(line)
    if found is None or hasattr(builtins, found["exception"]):
        return OneLine(None)
    payload = {"exception": found["exception"], "message": found["message"][:_MESSAGE]}
    return OneLine(Emission("bad_node", UNCAUGHT, payload=payload))


@accumulator_def(
    "ErrorLine",
    AUTHOR,
    trigger_re=(
        r"(?:^|[\[|] ?|- )(?:ERROR|CRITICAL|FATAL)(?:\]| {0,3}: {0,4}\S| +[|-])"
        r"|[\d\])Z] (?:ERROR|CRITICAL|FATAL):? +[^\d\s|-]"
        r"|(?:^|\) )(?:[Ee]rror|[Ff]atal|[Ff]atal error|ERR!): \S|: [EF] (?:external|tensorflow|xla)/"
        r"|(?:^|\])[EF]\d{4}(?:\d{4})? \d\d:\d\d:|ERROR \d\d-\d\d \d\d:\d\d:\d\d \[?\w+\.py:\d+\] \S| UCX  ERROR \S"
        r"|(?:^|\] )[A-Z]\w+ ERROR: \S|(?:^|[ \]])[a-z]\w+: (?:ERROR|CRITICAL|FATAL) \S|\] ?\[E\] \S|\] error: \S"
        r"|level=(?:error|fatal|critical|ERROR|FATAL|CRITICAL)\b"
        r"|(?:^|[\])|>] )(?:[Aa]borting|[Ff]ailed to|[Cc]ould not|[Cc]ouldn.t|[Cc]annot|[Uu]nable to|\w+ error:"
        r"|[Ee]rror (?:in|while|(?:pars|load|read|open|decod|creat|writ)ing)|[Ff]atal error|FATAL|ERROR) \S"
        r"|(?i:(?:connection to|contact with|heartbeat of|heartbeat) [^\n]{0,40}lost\b"
        r"|lost (?:connection|contact) (?:to|with)|\bnot responding\b"
        r"|died unexpectedly|became unhealthy|health check failed|timed? ?-?out waiting (?:for|on) )"
        r"|\[[EF]:onnxruntime:|LOG\((?:ERROR|FATAL)\) |npm (?:ERR!|error) "
        r"|\[(?:error|critical|fatal|Error|Critical|Fatal)\] \S"
        r"|\d [EC] \d+ \d+\] |\.(?:cc?|cpp|cuh?|h):\d+:? +(?i:error|fatal)\b"
        r"|\[NeMo [EC] |[\[|<(] {0,4}(?:ERROR|ERR|CRITICAL|FATAL|FTL)(?:\]|\||>|\))"
        r"|[\dZM] (?:ERR|FTL|SEVERE) \S"
        r"|ERROR +\d+ --- \[|(?:^|[\]:] )SEVERE: |\bERROR\t"
        r"|❌|\[err\] "
        r"|(?:^|\] ?)\[?E\]? (?:\d{4}-\d\d-\d\d |[a-z])"
        r"|(?:\*\*\*|!!!) ?ERROR\b|\bError! |\b(?:[Ee]xception|[Ee]rror) occurred\b"
        r"|\bdied(?:\.\s*$| before )|process died\b"
        r"|\"(?:level|lvl|severity(?:_text)?|levelname|log\.level)\": ?"
        r"\"(?:error|fatal|critical|ERROR|FATAL|CRITICAL)\""
    ),
    sources=("applog",),
    last_resort=True,
)
def error_line(_job: JobIdentity, _captures: Mapping[str, str], line: str) -> OneLine:
    """A line that calls itself an error: a fact, for the case that nothing else is known."""
    return OneLine(None if _HARMLESS.search(line) else Emission("info", payload={"kind": ERROR_LINE}))


@filter_def("ErrorLineOfLastResort", AUTHOR, priority=FilterPriority.LATE + 500)
def error_line_of_last_resort(context: FilterContext) -> None:
    """The first error line stands for the failure of a job of which no rule reads more than a launcher's word.

    Not where any rule has read that very line, whatever became of it.
    """
    facts = unread_error_lines(context) if is_unread(context) else []
    if facts:
        first, by = earliest(facts), "ErrorLineOfLastResort"
        context.event_stream.emit(event_type=EventType.BAD_NODE, rule=by, derived_from=first, symptom=_UNREAD)
