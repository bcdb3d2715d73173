"""Kept evidence under other rules: what would today's verdicts have been?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.attributor import Attributor
from attribution_lib.errors import AttributionError
from attribution_lib.events.table import EventManager
from attribution_lib.job.model import JobIdentity, Scheduler
from attribution_service.errors import ServiceError, StoreError
from attribution_service.extraction import extract
from attribution_service.jobs import build_job
from attribution_service.kept import read_kept
from attribution_service.ports import ObjectMissingError
from attribution_service.retained import EVIDENCE, MANIFEST, Gist, Manifest
from attribution_service.ulids import ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.service import Caller, Service

__all__ = ["Replayed", "replay"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One session's verdict before and after; ``problem`` says why there is no after, or not even a before."""

    name: str
    """The session's id; the object key of a manifest that cannot be read."""
    before: Gist | None
    after: Gist | None
    problem: str = ""

    @property
    def changed(self) -> bool:
        """Whether the verdict would be another one."""
        return self.after is not None and self.after != self.before

    def differences(self) -> dict[str, tuple[object, object]]:
        """{field: (before, after)} of what differs."""
        if self.after is None:
            return {}
        pairs = {name: (getattr(self.before, name), getattr(self.after, name)) for name in Gist.__slots__}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def replay(service: Service, caller: Caller, engine: RuleEngine, *, since: int) -> Iterator[Replayed]:
    """Every verdict since then (seconds since the epoch) whose evidence was kept, attributed again with ``engine``.

    Nothing is stored: this asks what would change, it changes nothing. Whoever may see every cluster is also told of
    manifests that cannot be read.
    """
    for key in _manifests(service, since):
        try:
            manifest = Manifest.load(service.store.objects.get(key))
        except ObjectMissingError:
            continue  # its days are over
        except StoreError as error:
            if caller.clusters is None:
                yield Replayed(key, None, None, str(error))
            continue
        if manifest.at >= since and caller.may(manifest.cluster):
            yield _replayed(service, manifest, engine)


def _manifests(service: Service, since: int) -> Iterator[str]:
    """Keys of those that may be new enough: a generation that was opened before cannot have been attributed since."""
    oldest = since - service.settings.limits.ttl_max
    for info in service.store.objects.list(EVIDENCE):
        folder, _, name = info.key.rpartition("/")
        made = ulid_seconds(folder.rpartition("/")[2])
        if name == MANIFEST and made is not None and made >= oldest:
            yield info.key


def _replayed(service: Service, manifest: Manifest, engine: RuleEngine) -> Replayed:
    name, before = manifest.attributor_id, manifest.gist
    try:
        return Replayed(name, before, _again(service, manifest, engine))
    except ObjectMissingError as error:
        return Replayed(name, before, None, f"{error} is not kept any more")
    except (ServiceError, AttributionError) as error:
        return Replayed(name, before, None, str(error))


def _again(service: Service, manifest: Manifest, engine: RuleEngine) -> Gist:
    identity = JobIdentity(manifest.job_id, manifest.attempt, manifest.cluster, Scheduler(manifest.scheduler))
    job = build_job(service, manifest.job)
    events = EventManager(rules_digest=engine.digest)
    with Attributor(job, engine, events=events) as attributor:
        for batch in manifest.batches:
            with service.store.objects.open(str(batch["raw"])) as stream:
                slabs = read_kept(stream, service.settings.limits.slab_bytes)
                extracted = extract(engine, identity, slabs, redacted=int(batch["redacted"]))
            events.import_spill(extracted.spill, spill_id=str(batch["observation_id"]))
        return Gist.of(attributor.attribute())
