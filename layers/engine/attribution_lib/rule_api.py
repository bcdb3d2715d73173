"""The public API for rule authors: everything a file under ``rules/`` may import.

A decorator returns its function unchanged and hands a declaration to the loader that is executing the file; outside
of a load it does nothing, so a rule module can be imported by a test.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from attribution_lib.events.event import Clock, Event, EventState, EventType, ExplainedBy, Position
from attribution_lib.events.stream import EventStream, event_order
from attribution_lib.job.model import JobIdentity, JobInfo, StateClass
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.cascade import Cascade, CascadeScope, Order, apply_cascade
from attribution_lib.rules.causes import Causes, TimeRule
from attribution_lib.rules.contexts import CollectorContext, FilterContext, OutcomeChoice, RefinerContext, SymptomSet
from attribution_lib.rules.model import Emission, FilterPriority, RefinerPriority, Scope
from attribution_lib.rules.registry import (
    CodeMatcher,
    GeneratedSymptomRegistry,
    OutcomeMatcher,
    RankMatcher,
    SymptomMatcher,
)
from attribution_lib.taxonomy import Confidence, Outcome, SubDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "TEXT_SOURCES",
    "Cascade",
    "CascadeScope",
    "Causes",
    "Clock",
    "CollectorContext",
    "Confidence",
    "Declaration",
    "Emission",
    "Event",
    "EventState",
    "EventStream",
    "EventType",
    "ExplainedBy",
    "FilterContext",
    "FilterPriority",
    "GeneratedSymptomRegistry",
    "JobIdentity",
    "JobInfo",
    "Order",
    "Outcome",
    "OutcomeChoice",
    "Position",
    "RefinerContext",
    "RefinerPriority",
    "Scope",
    "Source",
    "StateClass",
    "SubDomain",
    "SymptomMatcher",
    "SymptomSet",
    "TimeRule",
    "accumulator_def",
    "cascade",
    "collector_def",
    "decoder_def",
    "event_order",
    "filter_def",
    "outcomes",
    "ranks",
    "refiner_def",
    "registration",
    "sxid",
    "symptom_def",
    "xid",
]

_F = TypeVar("_F", bound="Callable[..., Any]")
_Word = TypeVar("_Word", CascadeScope, Order)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One rule or symptom that a ``.py`` file declared; ``kind`` is the decorator's name without ``_def``."""

    kind: str
    name: str
    line: int
    target: Any
    options: dict[str, Any] = field(default_factory=dict)


_current: ContextVar[list[Declaration] | None] = ContextVar("attribution_rule_declarations", default=None)


@contextmanager
def registration() -> Iterator[list[Declaration]]:
    """Collect what the decorators declare while a rule file is executed (used by the loader)."""
    declared: list[Declaration] = []
    token = _current.set(declared)
    try:
        yield declared
    finally:
        _current.reset(token)


def _declare(kind: str, name: str, target: Any, line: int, **options: Any) -> None:
    declared = _current.get()
    if declared is not None:
        declared.append(Declaration(kind, name, line, target, options))


def _line_of(function: Callable[..., Any]) -> int:
    return inspect.unwrap(function).__code__.co_firstlineno if hasattr(function, "__code__") else 0


def filter_def(name: str, author: str, priority: int = FilterPriority.STANDARD, **options: Any) -> Callable[[_F], _F]:
    """Declare a phase-2 rule: ``f(context: FilterContext) -> None``. Options: status, version, depends_on."""

    def decorate(function: _F) -> _F:
        _declare("filter", name, function, _line_of(function), author=author, priority=int(priority), **options)
        return function

    return decorate


def refiner_def(
    name: str,
    author: str,
    priority: int = RefinerPriority.FINAL,
    symptoms: Sequence[SymptomMatcher] = (),
    **options: Any,
) -> Callable[[_F], _F]:
    """Declare a phase-3 rule: ``f(context: RefinerContext) -> None``, called where one of ``symptoms`` is present."""

    def decorate(function: _F) -> _F:
        _declare(
            "refiner",
            name,
            function,
            _line_of(function),
            author=author,
            priority=int(priority),
            symptoms=tuple(symptoms),
            **options,
        )
        return function

    return decorate


def collector_def(name: str, author: str, **options: Any) -> Callable[[_F], _F]:
    """Declare a phase-4 rule: ``f(context: CollectorContext) -> Mapping``, shown under ``collections[name]``."""

    def decorate(function: _F) -> _F:
        _declare("collector", name, function, _line_of(function), author=author, **options)
        return function

    return decorate


def accumulator_def(
    name: str, author: str, trigger_re: str, sources: Sequence[Source | str] = TEXT_SOURCES, **options: Any
) -> Callable[[_F], _F]:
    """Declare a multi-line extractor; decorates a factory ``f(job: JobIdentity, captures, line) -> Accumulator``.

    The accumulator is fed the following lines of the same observation, stream and rank prefix until it opts out, at
    most 2,000 lines or 64 KiB; then ``finalize(truncated=…)`` yields its emissions. Options: status, version, key,
    symptoms; ``last_resort=True``: only lines of which no other rule reads anything start it.
    """

    def decorate(factory: _F) -> _F:
        _declare(
            "accumulator",
            name,
            factory,
            _line_of(factory),
            author=author,
            trigger_re=trigger_re,
            sources=tuple(Source(source) for source in sources),
            **options,
        )
        return factory

    return decorate


def decoder_def(name: str) -> Callable[[_F], _F]:
    """Declare a support function for catalog rules: pure, captures → captures, named by ``decode = "…"``."""

    def decorate(function: _F) -> _F:
        _declare("decoder", name, function, _line_of(function))
        return function

    return decorate


def symptom_def(name: str, *, outcome: str, rank: int, scope: str, **options: Any) -> None:
    """Declare a symptom from Python; same keys as ``[[symptom]]``."""
    caller = inspect.currentframe()
    line = caller.f_back.f_lineno if caller is not None and caller.f_back is not None else 0
    _declare("symptom", name, None, line, outcome=outcome, rank=rank, scope=scope, **options)


def _one_of(words: type[_Word], given: str, address: str) -> _Word:
    """The word that was given; a refusal that says which there are."""
    try:
        return words(given)
    except ValueError as error:
        msg = f"{address}: is {given!r}; expected one of {', '.join(words)}"
        raise ValueError(msg) from error


def cascade(  # noqa: PLR0913 -- a cascade is exactly these facts, all keyword-only
    name: str,
    *,
    author: str,
    docs: str,
    causes: Sequence[SymptomMatcher],
    consequences: Sequence[SymptomMatcher],
    scope: CascadeScope | str,
    order: Order | str = Order.BEFORE,
    slack: int | None = None,
    within: int | None = None,
    priority: int | None = None,
    **options: Any,
) -> None:
    """Declare a refiner *causes explain consequences*: same place (``scope``), in this order, ``within`` seconds.

    A cause may come ``slack`` seconds late: 60, or with ``order="any"`` without bound, unless the cascade says.
    Device, rank and node cascades run in SCRUB, job-wide ones in FINAL, unless ``priority`` says otherwise.
    """
    scope = _one_of(CascadeScope, scope, f"{name} scope")
    order = _one_of(Order, order, f"{name} order")
    relation = Cascade(name, tuple(causes), tuple(consequences), scope, order, slack, within)
    if priority is None:
        scrub = scope in (CascadeScope.DEVICE, CascadeScope.NODE)
        priority = RefinerPriority.SCRUB if scrub else RefinerPriority.FINAL

    def apply(context: RefinerContext) -> None:
        apply_cascade(relation, context)

    caller = inspect.currentframe()
    line = caller.f_back.f_lineno if caller is not None and caller.f_back is not None else 0
    _declare(
        "refiner",
        name,
        apply,
        line,
        author=author,
        priority=int(priority),
        symptoms=tuple(causes),
        docs=docs,
        relation=relation,
        **options,
    )


def xid(*codes: int) -> CodeMatcher:
    """The symptoms of these XIDs, whatever their mnemonics."""
    return CodeMatcher("XID", frozenset(codes))


def sxid(*codes: int) -> CodeMatcher:
    """The symptoms of these NVSwitch SXids."""
    return CodeMatcher("SXID", frozenset(codes))


def outcomes(*names: Outcome | str) -> OutcomeMatcher:
    """All symptoms of these outcomes."""
    return OutcomeMatcher(frozenset(Outcome(name) for name in names))


def ranks(low: int, high: int) -> RankMatcher:
    """All symptoms with ``low <= rank < high``."""
    return RankMatcher(low, high)
