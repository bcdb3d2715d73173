"""What is kept beyond a session for re-attribution: masked bodies, and one manifest of the last verdict over them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from attribution_lib.taxonomy import sub_domain_of
from attribution_service.errors import StoreError
from attribution_service.live import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.verdict import Verdict
    from attribution_service.records import Batch, Session
    from attribution_service.service import Service

__all__ = ["EVIDENCE", "MANIFEST", "Gist", "Manifest", "retain"]

EVIDENCE = "evidence/"
MANIFEST = "manifest.json"
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Gist:
    """What two verdicts are compared by."""

    outcome: str
    sub_domain: str
    confidence: str
    symptom: str
    node: str
    bad_nodes: list[str]

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Of a raw or enriched verdict."""
        root = verdict.root_cause
        return cls(
            outcome=verdict.outcome.value,
            sub_domain=sub_domain_of(verdict.outcome).value,
            confidence=verdict.confidence.value,
            symptom=root.symptom if root else "",
            node=(root.node or "") if root else "",
            bad_nodes=sorted(node.node for node in verdict.bad_nodes),
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which bodies, of which job, gave which verdict."""

    attributor_id: str
    generation: str
    cluster: str
    job_id: str
    attempt: int
    scheduler: str
    at: int
    job: dict[str, Any]
    batches: list[dict[str, Any]]
    """{observation_id, raw, redacted} each."""
    rules_digest: str
    gist: Gist

    def dump(self) -> bytes:
        """As stored."""
        return json.dumps({"schema": _SCHEMA, **asdict(self)}, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Read back; ``StoreError`` when it is in no known form."""
        try:
            fields = json.loads(data)
            if fields.pop("schema", None) == _SCHEMA:
                return cls(**{**fields, "gist": Gist(**fields["gist"])})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"a manifest of kept evidence is damaged: {type(error).__name__}: {error}") from error
        raise StoreError("a manifest of kept evidence is in a form that this version does not read")


def retain(service: Service, session: Session, job: dict[str, Any], batches: Iterable[Batch], verdict: Verdict) -> None:
    """Write the manifest of this verdict over the one before."""
    manifest = Manifest(
        attributor_id=session.attributor_id,
        generation=session.generation,
        cluster=session.cluster,
        job_id=session.job_id,
        attempt=session.attempt,
        scheduler=session.scheduler,
        at=service.now(),
        job=job,
        batches=[
            {"observation_id": batch.observation_id, "raw": batch.raw, "redacted": batch.redacted}
            for batch in batches
            if batch.raw.startswith(EVIDENCE)
        ],
        rules_digest=verdict.engine.rules_digest,
        gist=Gist.of(verdict),
    )
    prefix = keys_of(session).evidence(session.cluster, session.job_id, session.attempt)
    service.store.objects.put(prefix + MANIFEST, manifest.dump())
