"""Store, query and judge enriched verdicts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.fields import is_identifier
from attribution_service.errors import InvalidRequestError, NotFoundError
from attribution_service.history import node_history
from attribution_service.model import Feedback, VerdictPage, VerdictReceipt
from attribution_service.paging import page_limit, walk
from attribution_service.ports import ItemExistsError, ObjectMissingError
from attribution_service.records import CLUSTERS_PK
from attribution_service.sessions import callers_clusters
from attribution_service.settling import settle
from attribution_service.times import SECONDS_A_DAY, day_of, rfc3339, seconds_of
from attribution_service.ulids import new_ulid
from attribution_service.verdict_items import (
    RunItem,
    feedback_month,
    feedback_pk,
    head_of,
    recency,
    run_pk,
    run_prefix,
    whole_verdict,
)

if TYPE_CHECKING:
    from attribution_service.model import FeedbackRequest, VerdictHead, VerdictKey, VerdictQuery
    from attribution_service.ports import Item
    from attribution_service.result import EnrichedVerdict
    from attribution_service.service import Caller, Service
    from attribution_service.settings import ServiceLimits

__all__ = [
    "add_feedback",
    "check_feedback",
    "feedback_on",
    "get_verdict",
    "list_feedback",
    "node_history",
    "query_verdicts",
    "runs_of",
    "write_verdict",
]

_RUNS_NAMED = 5
_DAYS = 30


def write_verdict(service: Service, caller: Caller, verdict: EnrichedVerdict, *, pack: bool = False) -> VerdictReceipt:
    """Store a run's verdict; the same run overwrites itself. Listings and counters follow the latest run of an attempt.

    Tried again after whatever it met, it does what is missing and nothing twice. ``pack``: for a table without a
    bucket, a verdict that is too long for an item is packed rather than stored as an object.
    """
    run = _run(service, verdict)
    caller.require(run.cluster)
    table = service.store.verdicts
    with suppress(ItemExistsError):
        table.put({"pk": CLUSTERS_PK, "sk": run.cluster}, if_absent=True)
    table.put(run.item(service.store.objects, table.get(run.pk, run.sk), pack=pack))
    return VerdictReceipt(
        cluster=run.cluster,
        job_id=run.job_id,
        attempt=run.attempt,
        run_id=verdict.run_id,
        counted_nodes=settle(service, run),
    )


def get_verdict(service: Service, caller: Caller, key: VerdictKey) -> EnrichedVerdict:
    """One whole verdict: of the latest attempt and its latest run unless said otherwise; ``NotFoundError``."""
    caller.require_found(key.cluster, "verdict on this job")
    item = _run_item(service, key)
    try:
        return whole_verdict(item, service.store.objects)
    except ObjectMissingError:
        raise NotFoundError("the whole of this verdict is not kept any more") from None


def query_verdicts(service: Service, caller: Caller, query: VerdictQuery) -> VerdictPage:
    """Heads of verdicts, newest first; ``InvalidRequestError``."""
    table = service.store.verdicts
    clusters = callers_clusters(service, caller, query.cluster)
    if query.node is not None:
        index, partitions = "by_node", [f"{cluster}#{query.node}" for cluster in clusters]
    else:
        index, partitions = "by_day", [f"{cluster}#{day}" for day in _days(service, query) for cluster in clusters]

    def keep(item: Item) -> bool:
        return (
            (query.sub_domain is None or item.get("sub_domain") == query.sub_domain.value)
            and (query.outcome is None or item.get("outcome") == query.outcome.value)
            and (query.day is None or day_of(int(item["at"])) == query.day)
        )

    items, cursor = walk(
        partitions,
        lambda key, inner, limit: table.query_index(index, key, cursor=inner, limit=limit, descending=True),
        keep,
        cursor=query.cursor,
        limit=page_limit(query.limit, service.settings.limits),
    )
    return VerdictPage(verdicts=[head_of(item) for item in items], cursor=cursor)


def add_feedback(service: Service, caller: Caller, key: VerdictKey, request: FeedbackRequest) -> Feedback:
    """Store a judgement on a stored verdict: 201; ``NotFoundError``."""
    caller.require_found(key.cluster, "verdict on this job")
    check_feedback(request, service.settings.limits)
    run = _run_item(service, key.model_copy(update={"run_id": request.run_id or key.run_id}))
    head = head_of(run)
    feedback = feedback_on(head, request, service.clock())
    keys = {"pk": feedback_pk(key.cluster, key.job_id), "sk": f"{feedback.attempt:06d}#{feedback.feedback_id}"}
    place = {"cluster_day": feedback_month(key.cluster, service.now()), "at": service.now()}
    known = {"cluster": head.cluster, "job_id": head.job_id, "attempt": head.attempt, "rule": head.rule}
    service.store.verdicts.put({**keys, **place, **known, "body": feedback.model_dump_json()}, if_absent=True)
    return feedback


def check_feedback(request: FeedbackRequest, limits: ServiceLimits) -> None:
    """``InvalidRequestError`` when a judgement cannot be stored."""
    if len(request.comment) > limits.feedback_text:
        fault = Fault("comment", "", f"{len(request.comment)} characters", f"at most {limits.feedback_text}")
        raise InvalidRequestError("the judgement is not valid", [fault])


def feedback_on(head: VerdictHead, request: FeedbackRequest, now: float) -> Feedback:
    """The judgement as it is stored and answered; ``now`` is seconds since the epoch."""
    return Feedback(
        feedback_id=new_ulid(now),
        cluster=head.cluster,
        job_id=head.job_id,
        attempt=head.attempt,
        run_id=head.run_id,
        at=rfc3339(int(now)),
        **request.model_dump(exclude={"run_id"}),
    )


def list_feedback(service: Service, caller: Caller, key: VerdictKey) -> list[Feedback]:
    """The judgements on one job, or on one attempt of it, oldest first."""
    caller.require_found(key.cluster, "verdict on this job")
    prefix = "" if key.attempt is None else f"{key.attempt:06d}#"
    items = service.store.verdicts.query(feedback_pk(key.cluster, key.job_id), prefix)
    return [Feedback.model_validate_json(str(item["body"])) for item in items]


def _run(service: Service, verdict: EnrichedVerdict) -> RunItem:
    """The verdict's place in the table; ``InvalidRequestError`` when a part of its key is no id."""
    job, attempt = verdict.job, verdict.job.get("attempt")
    parts = {"job.cluster": job.get("cluster"), "job.job_id": job.get("job_id"), "run_id": verdict.run_id}
    faults = [
        Fault(name, "", f"{str(part)[:60]!r} is no id") for name, part in parts.items() if not is_identifier(part)
    ]
    if not isinstance(attempt, int):
        faults.append(Fault("job.attempt", "", f"{str(attempt)[:60]!r}", "a whole number"))
    at = service.now() if verdict.attributed_at is None else seconds_of(verdict.attributed_at)
    if at is None:
        faults.append(Fault("attributed_at", "", f"{str(verdict.attributed_at)[:60]!r}", "RFC 3339"))
    if faults or at is None or not isinstance(attempt, int):
        raise InvalidRequestError("the verdict cannot be stored", faults)
    return RunItem(verdict, str(job["cluster"]), str(job["job_id"]), attempt, at)


def runs_of(service: Service, caller: Caller, key: VerdictKey) -> list[VerdictHead]:
    """The heads of every run of one attempt (the latest attempt unless said otherwise), newest first; maybe none."""
    caller.require_found(key.cluster, "verdict on this job")
    runs = _attempt_items(service, key)
    return [head_of(item) for item in sorted(runs, key=recency, reverse=True)]


def _run_item(service: Service, key: VerdictKey) -> Item:
    runs = [item for item in _attempt_items(service, key) if key.run_id in (None, item["run_id"])]
    if not runs:
        others = _attempt_items(service, key.model_copy(update={"run_id": None})) if key.run_id else ()
        known = ", ".join(sorted(str(item["run_id"]) for item in others)[:_RUNS_NAMED])
        what = f"of run {key.run_id} on this job; there is one of {known}" if known else "on this job"
        raise NotFoundError(f"there is no verdict {what}", cluster=key.cluster, job_id=key.job_id)
    return max(runs, key=recency)


def _attempt_items(service: Service, key: VerdictKey) -> list[Item]:
    table, pk = service.store.verdicts, run_pk(key.cluster, key.job_id)
    attempt = key.attempt
    if attempt is None:
        newest = table.query_page(pk, limit=1, descending=True).items
        attempt = int(newest[0]["attempt"]) if newest else 0
    return list(table.query(pk, f"{run_prefix(attempt)}{key.run_id or ''}"))


def _days(service: Service, query: VerdictQuery) -> list[str]:
    if query.day is not None:
        if seconds_of(f"{query.day}T00:00:00Z") is None:
            raise InvalidRequestError("the query is not valid", [Fault("day", "", query.day, "a day, as 2026-06-01")])
        return [query.day]
    return [day_of(service.now() - days * SECONDS_A_DAY) for days in range(_DAYS)]
