"""Judgements: shown, summed up a rule, and exported as labelled cases."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError, NotFoundError
from attribution_service.model import FeedbackJudgement, VerdictKey
from dashboard.building.labelled import labelled_case
from dashboard.contexts.feedback import Agreement, FeedbackContext, FeedbackEntry, FeedbackFilters, RuleAgreement
from dashboard.contexts.model import PageName
from dashboard.reading import FeedbackQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_service.model import Feedback
    from dashboard.contexts.feedback import LabelledCase
    from dashboard.reading import VerdictReader
    from dashboard.site import Site

__all__ = ["agreement_of", "by_rule", "feedback_context", "feedback_entry"]

_SHOWN = 500
_READ = 5_000


def feedback_context(site: Site, filters: FeedbackFilters) -> FeedbackContext:
    """Every judgement that the filters pass; ``InvalidRequestError``."""
    if filters.judgement and filters.judgement not in set(FeedbackJudgement):
        fault = Fault("judgement", "", filters.judgement[:60], f"one of {', '.join(FeedbackJudgement)}")
        msg = "the filters are not valid"
        raise InvalidRequestError(msg, [fault])
    found = site.reader.feedback(FeedbackQuery(cluster=filters.cluster or None, limit=_READ))
    passed = [(entry, rule) for entry, rule in found if filters.judgement in ("", entry.judgement)]
    entries = [entry for entry, _ in passed]
    return FeedbackContext(
        **site.page(PageName.FEEDBACK, "Feedback"),
        filters=filters,
        clusters=tuple(site.reader.clusters()),
        entries=tuple(feedback_entry(entry) for entry in entries[:_SHOWN]),
        total=len(entries),
        agreement=agreement_of(entries),
        by_rule=tuple(
            RuleAgreement(rule=rule, agreement=agreement)
            for rule, agreement in sorted(by_rule(passed).items(), key=lambda known: (known[1].share, known[0]))
        ),
        cases=tuple(_cases(site.reader, entries)),
    )


def feedback_entry(feedback: Feedback) -> FeedbackEntry:
    """One judgement as pages show it."""
    fields = feedback.model_dump() | {"outcome": feedback.outcome or "", "node": feedback.node or ""}
    return FeedbackEntry.model_validate(fields)


def agreement_of(feedback: Iterable[Feedback]) -> Agreement:
    """The counts; the share counts ``partly`` as half."""
    counts = Counter(entry.judgement for entry in feedback)
    right, partly, wrong = (counts[judgement] for judgement in FeedbackJudgement)
    total = right + partly + wrong
    share = round((right + partly / 2) / total, 3) if total else None
    return Agreement(right=right, partly=partly, wrong=wrong, share=share)


def by_rule(feedback: Sequence[tuple[Feedback, str | None]]) -> dict[str, Agreement]:
    """{rule that decided: agreement}; ``""`` for verdicts without a root."""
    groups: dict[str, list[Feedback]] = {}
    for entry, rule in feedback:
        groups.setdefault(rule or "", []).append(entry)
    return {rule: agreement_of(entries) for rule, entries in groups.items()}


def _cases(reader: VerdictReader, entries: Sequence[Feedback]) -> Iterator[LabelledCase]:
    """One an attempt, by its newest judgement; a verdict that is not kept any more makes none."""
    newest: dict[tuple[str, str, int], Feedback] = {}
    for entry in entries:
        newest.setdefault((entry.cluster, entry.job_id, entry.attempt), entry)
    for entry in list(newest.values())[:_SHOWN]:
        key = VerdictKey(cluster=entry.cluster, job_id=entry.job_id, attempt=entry.attempt, run_id=entry.run_id)
        try:
            verdict = reader.verdict(key)
        except NotFoundError:
            continue
        yield labelled_case(entry, verdict)
