"""The items of a stored verdict: its head and body, one small item a bad node, and the node's counters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.fields import is_identifier
from attribution_service.model import VerdictHead
from attribution_service.records import INDEX_ATTRIBUTES
from attribution_service.result import EnrichedVerdict
from attribution_service.times import day_of, rfc3339, seconds_of

if TYPE_CHECKING:
    from attribution_service.ports import Item, ObjectStore

__all__ = ["RunItem", "counter_key", "feedback_pk", "head_of", "node_pk", "run_pk", "run_prefix", "whole_verdict"]

_BODY_LIMIT = 340_000
"""Bytes of a body within its item; a longer one is an object."""
_SHOWN_NODES = 20
_SHOWN_EVIDENCE = 300


@dataclass(frozen=True, slots=True)
class RunItem:
    """One run's verdict on its way into the table."""

    verdict: EnrichedVerdict
    cluster: str
    job_id: str
    attempt: int
    at: int
    """Seconds since the epoch: when it was attributed."""

    @property
    def pk(self) -> str:
        """Partition of the job."""
        return run_pk(self.cluster, self.job_id)

    @property
    def sk(self) -> str:
        """The run within the job."""
        return f"{run_prefix(self.attempt)}{self.verdict.run_id}"

    @property
    def failure(self) -> tuple[str, str]:
        """(month, token) under which this failure is counted: by the day on which the job ended, whatever the run."""
        end = seconds_of(str(self.verdict.job.get("end") or "")) or self.at
        return day_of(end)[:7], f"{day_of(end)}:{self.job_id}:{self.attempt}"

    @property
    def bad_nodes(self) -> list[str]:
        """The nodes that it blames and that can be looked up by name."""
        return [bad.node for bad in self.verdict.bad_nodes if is_identifier(bad.node)]

    def head(self) -> Item:
        """What listings show (``INDEX_ATTRIBUTES``), with the time that they are sorted by."""
        verdict, root = self.verdict, self.verdict.root_cause
        return {
            "cluster": self.cluster,
            "job_id": self.job_id,
            "attempt": self.attempt,
            "at": self.at,
            "run_id": verdict.run_id,
            "attributor_id": verdict.attributor_id,
            "attributed_at": verdict.attributed_at,
            "job_name": str(verdict.job.get("name", "")),
            "user": str(verdict.job.get("user", "")),
            "outcome": verdict.outcome.value,
            "sub_domain": verdict.sub_domain.value,
            "terminal_state": verdict.terminal_state.value,
            "confidence": verdict.confidence.value,
            "evidence_status": verdict.evidence_status.value,
            "symptom": root.symptom if root else None,
            "node": root.node if root else None,
            "evidence": root.evidence[:_SHOWN_EVIDENCE] if root else "",
            "bad_nodes": [bad.node for bad in verdict.bad_nodes[:_SHOWN_NODES]],
            "bad_nodes_total": verdict.bad_nodes_total,
            "rules_digest": verdict.engine.rules_digest,
        }

    def item(self, objects: ObjectStore) -> Item:
        """The run's item; a body too long for it is stored as an object first."""
        body = self.verdict.model_dump_json(by_alias=True)
        where: Item = {"body": body}
        if len(json.dumps(body)) > _BODY_LIMIT:
            key = f"verdicts/{self.cluster}/{self.job_id}/{self.attempt}/{self.verdict.run_id}.json"
            objects.put(key, body.encode())
            where = {"object": key}
        keys = {"pk": self.pk, "sk": self.sk, "cluster_day": f"{self.cluster}#{day_of(self.at)}"}
        return {**self.head(), **where, **keys, "blamed": self.bad_nodes}

    def node_item(self, node: str) -> Item:
        """The small item by which a node's verdicts are found."""
        keys = {"pk": node_pk(self.cluster, node), "sk": f"{self.job_id}#{self.attempt:06d}"}
        return {**self.head(), **keys, "cluster_node": f"{self.cluster}#{node}"}


def run_pk(cluster: str, job_id: str) -> str:
    """Partition of all runs of a job."""
    return f"{cluster}#{job_id}"


def run_prefix(attempt: int) -> str:
    """What the sort keys of an attempt's runs begin with."""
    return f"{attempt:06d}#"


def node_pk(cluster: str, node: str) -> str:
    """Partition of a node: its verdicts and its counters."""
    return f"NODE#{cluster}#{node}"


def counter_key(month: str) -> str:
    """Sort key of a node's counter of one month (``2026-06``)."""
    return f"MONTH#{month}"


def feedback_pk(cluster: str, job_id: str) -> str:
    """Partition of the judgements on a job's verdicts."""
    return f"FEEDBACK#{cluster}#{job_id}"


def head_of(item: Item) -> VerdictHead:
    """What a listing shows of an item of an index."""
    fields: dict[str, Any] = {name: item.get(name) for name in INDEX_ATTRIBUTES}
    for absent_when_empty in ("job_name", "user", "evidence"):
        fields[absent_when_empty] = fields[absent_when_empty] or ""
    fields["bad_nodes"] = fields["bad_nodes"] or []
    return VerdictHead(stored_at=rfc3339(int(item["at"])), **fields)


def whole_verdict(item: Item, objects: ObjectStore) -> EnrichedVerdict:
    """The verdict of a run's item; ``ObjectMissingError`` when its object is gone."""
    body = objects.get(str(item["object"])) if item.get("object") else str(item["body"])
    return EnrichedVerdict.model_validate_json(body)
