"""The items and object keys of the service: every key is made here, every item is read and written through here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from attribution_service.ports import Item

__all__ = [
    "CLUSTERS_PK",
    "INDEXES",
    "INDEX_ATTRIBUTES",
    "SESSION_SK",
    "Batch",
    "Keys",
    "Session",
    "SessionState",
    "Upload",
    "batch_sk",
    "session_pk",
    "upload_sk",
]

SESSION_SK = "SESSION"
CLUSTERS_PK = "CLUSTERS"
"""Partition with one item a cluster that was ever used, in both tables."""
INDEXES = {
    "open_sessions": ("open_cluster", "created"),
    "by_day": ("cluster_day", "at"),
    "by_node": ("cluster_node", "at"),
}
"""{index: (partition attribute: text, sort attribute: number)}: sparse, an item without the attributes is not in it.

``open_sessions`` belongs to the table of sessions and projects everything (sessions are small); ``by_day`` and
``by_node`` belong to the table of verdicts and project keys and ``INDEX_ATTRIBUTES`` (not the verdict itself).
"""
INDEX_ATTRIBUTES = (
    "cluster",
    "job_id",
    "attempt",
    "run_id",
    "attributor_id",
    "attributed_at",
    "job_name",
    "user",
    "outcome",
    "sub_domain",
    "terminal_state",
    "confidence",
    "evidence_status",
    "symptom",
    "node",
    "evidence",
    "bad_nodes",
    "bad_nodes_total",
    "rules_digest",
    "rule",
    "rules",
    "device",
    "switch",
    "peers",
    "nodes",
    "gpus",
    "started_at",
    "ended_at",
)
"""What listings and statistics of verdicts are made of. DynamoDB projects at most 100 over all indexes of a table."""


class SessionState(StrEnum):
    """Open sessions take observations; expired ones are as good as gone."""

    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Session:
    """The hot item of one session generation. Times are seconds since the epoch."""

    attributor_id: str
    generation: str
    """A ULID: a re-opened id is another generation and shares nothing with the earlier one."""
    cluster: str
    job_id: str
    attempt: int
    created: int
    expires_at: int
    state: str = SessionState.OPEN
    ver: int = 0
    """Counts the moves of the snapshot pointer."""
    snapshot: str = ""
    snapshot_n: int = 0
    """How many batches the snapshot holds."""
    snapshot_events: int = 0
    """What the receipts of those batches counted together."""
    snapshot_rules: str = ""
    """Digest of the rules that the snapshot was made with."""
    job_ver: int = 0
    attributing_until: int = 0
    batches: int = 0
    """As last counted, by an attribution or on the way; never more than there are."""
    events: int = 0
    """Rows of the snapshot."""
    opened_by: str = ""
    scheduler: str = "static"
    """As the job said when it was opened: extraction must not depend on what comes late."""

    def item(self) -> Item:
        """As stored; ``ttl`` is the table's own expiry, an hour after ours."""
        values = asdict(self)
        return {
            **values,
            "pk": session_pk(self.attributor_id),
            "sk": SESSION_SK,
            "open_cluster": self.cluster,
            "ttl": self.expires_at + 3600,
        }

    @classmethod
    def of(cls, item: Item) -> Self:
        """Read back; attributes that only the table needs are left aside."""
        return cls(**_known(cls, item))


@dataclass(frozen=True, slots=True)
class Batch:
    """One committed observation: the commit point is the existence of this item."""

    attributor_id: str
    generation: str
    observation_id: str
    spill: str
    """Object key."""
    raw_sha: str
    """SHA-256 of the body as received (unpacked)."""
    digest: str
    """SHA-256 of its canonical form: two deliveries are the same batch when this is the same."""
    raw: str
    """Object key of the redacted body; empty when none is kept."""
    lines: int
    bytes: int
    truncated_lines: int
    redacted: int
    events: int
    rules_digest: str
    at: int
    ttl: int
    nonce: str
    """Of the call that committed it, so that a call whose write was sent twice knows its own."""
    crashes: list[str] = field(default_factory=list)
    """Rules that raised during extraction: JSON ``[rule, location, error, count]``, for the verdict's diagnostics."""

    def item(self) -> Item:
        """As stored."""
        keys = {"pk": session_pk(self.attributor_id), "sk": batch_sk(self.generation, self.observation_id)}
        # Not asdict, which copies every value: this runs once a batch.
        return {**{name: getattr(self, name) for name in self.__slots__}, **keys}

    @classmethod
    def of(cls, item: Item) -> Self:
        """Read back."""
        return cls(**_known(cls, item))


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload that was announced; only such an object may be named by an observation."""

    attributor_id: str
    generation: str
    object_key: str
    source: str
    format: str
    size: int
    sha256: str
    ttl: int
    taken_by: str = ""
    """The observation that it became; its object is then gone."""
    taken_header: str = ""
    """SHA-256 of the header that it was named with."""

    def item(self) -> Item:
        """As stored."""
        keys = {"pk": session_pk(self.attributor_id), "sk": upload_sk(self.generation, self.object_key)}
        return {**asdict(self), **keys}

    @classmethod
    def of(cls, item: Item) -> Self:
        """Read back."""
        return cls(**_known(cls, item))


@dataclass(frozen=True, slots=True)
class Keys:
    """Object keys of one session generation."""

    attributor_id: str
    generation: str

    @property
    def prefix(self) -> str:
        """Everything of this generation; removed by DELETE."""
        return f"attributors/{self.attributor_id}/{self.generation}/"

    def job(self, ver: int) -> str:
        """The job facts of one version, kept out of the hot item."""
        return f"{self.prefix}job/{ver}.json"

    def spill(self, observation_id: str, raw_sha: str, rules_digest: str) -> str:
        """Extracted events of one body under one rule set."""
        return f"{self.prefix}spill/{observation_id}-{raw_sha[:16]}-{rules_digest[:12]}"

    def raw(self, observation_id: str, raw_sha: str) -> str:
        """The redacted body, where retention is on."""
        return f"{self.prefix}raw/{observation_id}-{raw_sha[:16]}"

    def evidence(self, cluster: str, job_id: str, attempt: int) -> str:
        """Prefix of what is kept beyond the session; not touched by DELETE."""
        return f"evidence/{cluster}/{job_id}/{attempt}/{self.generation}/"

    def upload(self, token: str) -> str:
        """A body that a client puts directly."""
        return f"{self.prefix}upload/{token}"

    def snapshot(self, count: int, token: str) -> str:
        """The folded state over ``count`` batches."""
        return f"{self.prefix}snapshot/{count:08d}-{token}"

    def verdict(self, etag: str) -> str:
        """A verdict by what it stands on."""
        return f"{self.prefix}verdict/{etag}"


def session_pk(attributor_id: str) -> str:
    """Partition of one attributor id, all generations."""
    return f"A#{attributor_id}"


def batch_sk(generation: str, observation_id: str = "") -> str:
    """Sort key of a batch; without an id the prefix of all batches of a generation."""
    return f"BATCH#{generation}#{observation_id}"


def upload_sk(generation: str, object_key: str = "") -> str:
    """Sort key of an announced upload: by the last part of its object key."""
    return f"UPLOAD#{generation}#{object_key.rpartition('/')[2]}"


def _known(cls: type[Any], item: Item) -> dict[str, Any]:
    names = _names(cls)  # type: ignore[arg-type]  # mypy takes type[Any] for unhashable
    return {name: value for name, value in item.items() if name in names}


@cache
def _names(cls: type[Any]) -> frozenset[str]:
    return frozenset(known.name for known in fields(cls))
