"""Object keys of runs: which contexts, and what was collected for each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RUNS", "ContextKeys", "key_of", "manifest_key"]

RUNS = "runs/"
_COLLECTED = "collected/"
_SCHEME = "s3://"


@dataclass(frozen=True, slots=True)
class ContextKeys:
    """Of one context (``cluster:job_id:attempt``) in one run."""

    run_id: str
    context: str

    @property
    def document(self) -> str:
        """The context as it was found: its job, and where its evidence lies."""
        return f"{RUNS}{self.run_id}/contexts/{self.context}.json"

    @property
    def collected(self) -> str:
        """Prefix of everything that is gone after the context's cleanup."""
        return f"{_COLLECTED}{self.run_id}/{self.context}/"

    def batch(self, instance: str, number: int) -> str:
        """One observation of a collector, as the v2 API takes it."""
        return f"{self.collected}batches/{instance}/{number:06d}"

    def batches(self, instance: str) -> str:
        """How many observations a collector brought, and their sizes."""
        return f"{self.collected}{instance}.json"

    @property
    def chunks(self) -> str:
        """The chunks that a map over many of them reads."""
        return f"{self.collected}chunks.json"

    def receipt(self, instance: str, first: int) -> str:
        """What became of one chunk."""
        return f"{self.collected}receipts/{instance}/{first:06d}.json"


def manifest_key(run_id: str) -> str:
    """The JSON array of job references of a fleet's run."""
    return f"{RUNS}{run_id}/manifest.json"


def key_of(reference: str) -> str:
    """The key of ``s3://bucket/key``; a bare key is itself. Functions may read their own bucket only."""
    if not reference.startswith(_SCHEME):
        return reference
    return reference.removeprefix(_SCHEME).partition("/")[2]
