"""The items of a stored verdict: its head and body, one small item a bad node, and the node's counters."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from attribution_lib.fields import is_identifier
from attribution_service.model import VerdictHead
from attribution_service.records import INDEX_ATTRIBUTES
from attribution_service.result import EnrichedVerdict
from attribution_service.times import day_of, rfc3339, seconds_of

if TYPE_CHECKING:
    from attribution_service.ports import Item, ObjectStore

__all__ = [
    "RunItem",
    "blamed_ever",
    "counter_key",
    "day_key",
    "failure_pk",
    "feedback_month",
    "feedback_pk",
    "head_of",
    "node_item",
    "node_pk",
    "node_sk",
    "recency",
    "run_pk",
    "run_prefix",
    "whole_verdict",
]

_BODY_LIMIT = 340_000
"""Bytes of a body within its item; a longer one is an object."""
_SHOWN_NODES = 20
_SHOWN_EVIDENCE = 300
_SHOWN_RULES = 40
_SHOWN_PEERS = 20
_DIGITS = 8
_ABSENT: Item = {
    "attributed_at": None,
    "job_name": "",
    "user": "",
    "evidence": "",
    "bad_nodes": [],
    "symptom": None,
    "node": None,
}
"""What an item leaves out when it is empty, and a listing shows all the same."""


@dataclass(frozen=True, slots=True)
class RunItem:
    """One run's verdict on its way into the table."""

    verdict: EnrichedVerdict
    cluster: str
    job_id: str
    attempt: int
    at: int
    """Seconds since the epoch: when it was attributed."""

    @classmethod
    def of(cls, verdict: EnrichedVerdict) -> Self:
        """By what the verdict says of itself; one that does not say when it was attributed is of 1970."""
        job, at = verdict.job, seconds_of(verdict.attributed_at or "")
        return cls(verdict, str(job["cluster"]), str(job["job_id"]), int(job["attempt"]), at or 0)

    @property
    def pk(self) -> str:
        """Partition of the job."""
        return run_pk(self.cluster, self.job_id)

    @property
    def sk(self) -> str:
        """The run within the job."""
        return f"{run_prefix(self.attempt)}{self.verdict.run_id}"

    @property
    def day(self) -> str:
        """The UTC day on which the job ended, or was attributed where that is not known."""
        return day_of(seconds_of(str(self.verdict.job.get("end") or "")) or self.at)

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
            **_root_facts(verdict),
            **_job_facts(verdict.job),
        }

    def item(self, objects: ObjectStore, earlier: Item | None = None, *, pack: bool = False) -> Item:
        """The run's item; a body too long for it is stored as an object first (``pack``: packed, if that suffices).

        ``earlier`` is the item that it replaces, whose nodes have to be found again when they are blamed no more.
        """
        body = self.verdict.model_dump_json(by_alias=True)
        where: Item = {"body": body}
        if len(json.dumps(body)) > _BODY_LIMIT:
            where = self._elsewhere(body.encode(), objects, pack=pack)
        keys = {"pk": self.pk, "sk": self.sk, "cluster_day": day_key(self.cluster, self.at)}
        nodes = {"blamed": self.bad_nodes, "no_longer": sorted(blamed_ever(earlier) - set(self.bad_nodes))}
        return {**self.head(), **where, **keys, **nodes}

    def _elsewhere(self, body: bytes, objects: ObjectStore, *, pack: bool) -> Item:
        packed = b64encode(gzip.compress(body, mtime=0)).decode() if pack else ""
        if packed and len(packed) <= _BODY_LIMIT:
            return {"packed": packed}
        key = f"verdicts/{self.cluster}/{self.job_id}/{self.attempt}/{self.verdict.run_id}.json"
        objects.put(key, body)
        return {"object": key}


def run_pk(cluster: str, job_id: str) -> str:
    """Partition of all runs of a job."""
    return f"{cluster}#{job_id}"


def run_prefix(attempt: int) -> str:
    """What the sort keys of an attempt's runs begin with."""
    return f"{attempt:06d}#"


def node_pk(cluster: str, node: str) -> str:
    """Partition of a node: its verdicts and its counters."""
    return f"NODE#{cluster}#{node}"


def node_sk(job_id: str, attempt: int) -> str:
    """Sort key of an attempt within a node's partition."""
    return f"{job_id}#{attempt:06d}"


def node_item(run: Item, node: str) -> Item:
    """The small item by which a node's verdicts are found: the head of a run's item."""
    head = {name: run[name] for name in ("at", *INDEX_ATTRIBUTES) if name in run}
    cluster = str(run["cluster"])
    keys = {"pk": node_pk(cluster, node), "sk": node_sk(str(run["job_id"]), int(run["attempt"]))}
    return {**head, **keys, "cluster_node": f"{cluster}#{node}"}


def blamed_ever(run: Item | None) -> set[str]:
    """The nodes that a run's item blames, and those that it blamed before it was written anew."""
    return set() if run is None else {*run.get("blamed", ()), *run.get("no_longer", ())}


def day_key(cluster: str, at: int) -> str:
    """Partition of the listing by day (``at`` in seconds since the epoch)."""
    return f"{cluster}#{day_of(at)}"


def failure_pk(cluster: str, job_id: str) -> str:
    """Partition that remembers on which day each attempt of a job is counted."""
    return f"FAILURE#{cluster}#{job_id}"


def counter_key(month: str) -> str:
    """Sort key of a node's counter of one month (``2026-06``)."""
    return f"MONTH#{month}"


def feedback_pk(cluster: str, job_id: str) -> str:
    """Partition of the judgements on a job's verdicts."""
    return f"FEEDBACK#{cluster}#{job_id}"


def feedback_month(cluster: str, seconds: float) -> str:
    """Partition of the index ``by_day`` under which a month's judgements of a cluster are found."""
    return f"FEEDBACK#{cluster}#{day_of(seconds)[:7]}"


def recency(run: Item) -> tuple[int, str]:
    """By what the latest run of an attempt is the greatest."""
    return int(run["at"]), str(run["run_id"])


def head_of(item: Item) -> VerdictHead:
    """What a listing shows of an item of an index."""
    found = {name: item[name] for name in INDEX_ATTRIBUTES if item.get(name) is not None}
    return VerdictHead.model_validate({**_ABSENT, **found, "stored_at": rfc3339(int(item["at"]))})


def _root_facts(verdict: EnrichedVerdict) -> Item:
    """Who decided and what failed, beyond nodes."""
    root = verdict.root_cause
    named = {row.rule for row in verdict.symptoms} | {row.changed_by for row in verdict.symptoms if row.changed_by}
    return {
        "rule": root.rule if root else "",
        "rules": sorted(named)[:_SHOWN_RULES],
        "device": (root.device or "") if root else "",
        "switch": str(root.payload.get("switch") or "") if root else "",
        "peers": _peers(verdict.collections.get("bad_pairs")),
    }


def _peers(pairs: object) -> list[str]:
    """Both ends of each pair by name, else by address; a pair of which one end is unknown is none."""
    found: dict[str, None] = {}
    for pair in pairs if isinstance(pairs, list) else ():
        ends = [str(pair.get(f"{side}_node") or pair.get(f"{side}_ip") or "") for side in ("src", "dst")]
        if all(ends) and ends[0] != ends[1]:
            found[" ".join(sorted(ends))] = None
    return list(found)[:_SHOWN_PEERS]


def _job_facts(job: dict[str, Any]) -> Item:
    gpus = str((job.get("labels") or {}).get("gpus", ""))
    return {
        "nodes": len(job.get("nodes") or ()),
        "gpus": int(gpus) if gpus.isascii() and gpus.isdigit() and len(gpus) < _DIGITS else 0,
        "started_at": job.get("start"),
        "ended_at": job.get("end"),
    }


def whole_verdict(item: Item, objects: ObjectStore) -> EnrichedVerdict:
    """The verdict of a run's item; ``ObjectMissingError`` when its object is gone."""
    if item.get("packed"):
        return EnrichedVerdict.model_validate_json(gzip.decompress(b64decode(str(item["packed"]))))
    body = objects.get(str(item["object"])) if item.get("object") else str(item["body"])
    return EnrichedVerdict.model_validate_json(body)
