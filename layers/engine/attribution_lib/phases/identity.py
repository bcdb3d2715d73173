"""Which batch an observation is: an id that the producer gave, or one made from its content."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_lib.observation import Observation

__all__ = ["content_digest", "identified"]


def identified(observation: Observation) -> Observation:
    """The observation with both ``digest`` and ``observation_id`` filled in (the id defaults to the digest)."""
    digest = observation.digest or content_digest(observation)
    return replace(observation, digest=digest, observation_id=observation.observation_id or digest)


def content_digest(observation: Observation) -> str:
    """SHA-256 over everything that makes two deliveries the same batch, for observations built in Python.

    Bodies that came over the wire carry the digest of their canonical JSON instead (see ``observation_parse``).
    """
    digest = sha256()
    head = (
        observation.source,
        observation.format,
        observation.stream,
        observation.first_line,
        observation.node,
        observation.rank,
        observation.start,
        observation.end,
    )
    digest.update(repr(head).encode())
    digest.update(observation.text)
    entries = observation.entries
    for column in (entries.lines, entries.stamps, entries.nodes, entries.ranks):
        digest.update(repr(list(column)).encode("utf-8", "surrogatepass"))
    for series in observation.series:
        digest.update(repr((sorted(series.labels.items()), list(series.samples))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
