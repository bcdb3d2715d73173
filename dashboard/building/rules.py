"""The pages of the rules: the list with what each did in stored verdicts, and one rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.rules.description import describe
from attribution_lib.rules.model import MetricRule
from attribution_lib.rules.reference import kind_of, symptoms_of
from attribution_lib.taxonomy import SubDomain, sub_domain_of
from attribution_service.errors import InvalidRequestError, NotFoundError
from attribution_service.times import rfc3339
from dashboard.building.cascades import cascades_of
from dashboard.building.feedback import agreement_of, by_rule, feedback_entry
from dashboard.building.runs import run_row
from dashboard.building.symptoms import rule_docs
from dashboard.building.words import short_time
from dashboard.contexts.model import Fact, PageName
from dashboard.contexts.rules import RuleContext, RuleRow, RulesContext, RulesFilters, SymptomCard
from dashboard.reading import FeedbackQuery, RuleHits, RunsQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.rules.engine import AnyRule, RuleEngine
    from dashboard.contexts.feedback import Agreement
    from dashboard.reading import HitCounts
    from dashboard.site import Site

__all__ = ["rule_context", "rules_context"]

_SYMPTOMS = 12
_CARDS = 100
_VERDICTS = 20
_FEEDBACK = 50
_READ = 5_000
_BUILT_IN = frozenset({"scheduler_facts", "SchedulerFacts", "metric_repeats_log", "outside_window", "staged"})
"""Names that verdicts use for what is no rule."""
_SHOWN_ELSEWHERE = frozenset({"location", "author", "symptom", "docs"})


def rules_context(site: Site, filters: RulesFilters, offset: int = 0, limit: int = 100) -> RulesContext:
    """The rules that the filters pass; ``InvalidRequestError``, ``NotFoundError`` where no rules run."""
    if filters.sub_domain and filters.sub_domain not in set(SubDomain):
        fault = Fault("sub_domain", "", filters.sub_domain[:60], f"one of {', '.join(SubDomain)}")
        msg = "the filters are not valid"
        raise InvalidRequestError(msg, [fault])
    engine, hits = _engine(site), site.reader.rule_hits()
    judged = by_rule(site.reader.feedback(FeedbackQuery(limit=_READ)))
    rules = list(engine.rules())
    rows = [_row(rule, engine, hits.by_rule, judged) for rule in rules if _passes(rule, engine, filters)]
    rows = [row for row in rows if not filters.used or row.decided or row.seen]
    rows.sort(key=lambda row: (-row.decided, -row.seen, row.name))
    return RulesContext(
        **site.page(PageName.RULES, "Rules"),
        filters=filters,
        kinds=tuple(sorted({kind_of(rule) for rule in rules})),
        rules_digest=engine.digest,
        total=engine.rule_count,
        matching=len(rows),
        rows=tuple(rows[offset : offset + limit]),
        limit=limit,
        offset=offset,
        hits_note=_hits_note(hits),
        unknown_rules=tuple(_unknown(hits, engine)),
    )


def rule_context(site: Site, name: str) -> RuleContext:
    """One running rule; ``NotFoundError``."""
    engine = _engine(site)
    if name not in engine.locations:
        msg = f"no rule of the name {name[:200]!r} runs here"
        raise NotFoundError(msg)
    rule = engine.rule(name)
    judged = site.reader.feedback(FeedbackQuery(rule=name, limit=_READ))
    entries = [entry for entry, _ in judged]
    into, out, total = cascades_of(rule, engine)
    heads = site.reader.heads(RunsQuery(rule=name, limit=_VERDICTS)).heads
    return RuleContext(
        **site.page(PageName.RULE, f"Rule {name}"),
        rule=_row(rule, engine, site.reader.rule_hits().by_rule, {name: agreement_of(entries)}),
        docs=rule_docs(name, engine),
        author=rule.provenance.author,
        definition=tuple(_definition(rule, engine)),
        symptoms=tuple(_cards(rule, engine)),
        cascades_in=into,
        cascades_out=out,
        cascades_total=total,
        verdicts=tuple(run_row(head) for head in sorted(heads, key=lambda head: head.stored_at, reverse=True)),
        feedback=tuple(feedback_entry(entry) for entry in entries[:_FEEDBACK]),
    )


def _engine(site: Site) -> RuleEngine:
    engine = site.rules()
    if engine is None:
        msg = "no rules run beside this dashboard"
        raise NotFoundError(msg)
    return engine


def _row(rule: AnyRule, engine: RuleEngine, hits: Mapping[str, RuleHits], judged: Mapping[str, Agreement]) -> RuleRow:
    name, symptoms = rule.provenance.name, symptoms_of(rule)
    hit = hits.get(name, RuleHits())
    sources = ("node_metrics",) if isinstance(rule, MetricRule) else tuple(map(str, getattr(rule, "sources", ())))
    return RuleRow(
        name=name,
        kind=kind_of(rule),
        status=rule.provenance.status.value,
        location=str(rule.provenance.location),
        sources=sources,
        symptoms=symptoms[:_SYMPTOMS],
        symptoms_total=len(symptoms),
        rank=max((engine.registry.get(symptom).rank for symptom in symptoms), default=None),
        decided=hit.decided,
        seen=hit.seen,
        agreement=judged.get(name) or agreement_of(()),
    )


def _passes(rule: AnyRule, engine: RuleEngine, filters: RulesFilters) -> bool:
    if filters.kind and kind_of(rule) != filters.kind:
        return False
    symptoms = [engine.registry.get(symptom) for symptom in symptoms_of(rule)]
    if filters.sub_domain and all(sub_domain_of(symptom.outcome) != filters.sub_domain for symptom in symptoms):
        return False
    words = filters.text.casefold().split()
    if not words:
        return True
    name = rule.provenance.name
    parts = [name, kind_of(rule), str(rule.provenance.location), rule_docs(name, engine)]
    parts += [f"{symptom.name} {symptom.docs} {' '.join(symptom.aliases)}" for symptom in symptoms]
    text = " ".join(parts).casefold()
    return all(word in text for word in words)


def _definition(rule: AnyRule, engine: RuleEngine) -> Iterator[Fact]:
    """What the command line shows of the rule, without what has places of its own on the page."""
    name = rule.provenance.name
    title = f"{kind_of(rule)} {name}"
    for section, facts in describe(name, engine):
        if section == title:
            yield from (Fact(name=key, value=value) for key, value in facts if key not in _SHOWN_ELSEWHERE)


def _cards(rule: AnyRule, engine: RuleEngine) -> list[SymptomCard]:
    symptoms = sorted(
        (engine.registry.get(name) for name in symptoms_of(rule)), key=lambda found: (-found.rank, found.name)
    )
    return [
        SymptomCard(
            name=symptom.name,
            outcome=symptom.outcome,
            sub_domain=sub_domain_of(symptom.outcome),
            rank=symptom.rank,
            scope=symptom.scope.value,
            root=symptom.root,
            teardown=symptom.teardown,
            docs=symptom.docs,
            action=symptom.action,
        )
        for symptom in symptoms[:_CARDS]
    ]


def _hits_note(hits: HitCounts) -> str:
    span = "all stored verdicts" if hits.since is None else f"verdicts since {short_time(rfc3339(hits.since))} UTC"
    cut = "" if hits.complete else "; counting stopped, there are more"
    return f"Counted over the latest verdict of each attempt of {span}{cut}."


def _unknown(hits: HitCounts, engine: RuleEngine) -> Sequence[Fact]:
    known = engine.locations
    gone = sorted(name for name in hits.by_rule if name not in known and name not in _BUILT_IN)
    return [Fact(name=name, value=str(hits.by_rule[name].decided)) for name in gone]
