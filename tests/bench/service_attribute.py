"""A session's verdict over 1, 200 and 5,000 spills of 100 events: cold, warm, and asked for again."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

from engine import load_rules
from evidence import system_lines
from harness import Bench, Outcome, Section, in_child, watch

from attribution_lib.observation import Source
from attribution_service.attribute import attribute
from attribution_service.ingest import ingest
from attribution_service.live import stored_session
from attribution_service.model import OpenRequest
from attribution_service.service import EVERYTHING, Service
from attribution_service.sessions import open_session
from attribution_service.stores.local import local_store

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SECTION"]

_SPILLS = (1, 200, 5_000)
_EVENTS = 100
"""Lines of a batch, each of another node."""
_NODES, _MANY_NODES = 100, 1_000
_COLD_SECONDS, _WARM_SECONDS = 10.0, 1.0


def _run(bench: Bench) -> Outcome:
    figures = {"1": in_child(_session, bench.folder, bench.cache, 1, _NODES)}
    for count in _SPILLS[1:]:
        figures[str(count)] = in_child(_session, bench.folder, bench.cache, bench.count(count), _NODES)
    largest = figures[str(_SPILLS[-1])]
    met = largest["cold"]["cpu_s"] <= _COLD_SECONDS and largest["one_more"]["cpu_s"] <= _WARM_SECONDS
    figures["5000 of 1,000 nodes"] = in_child(
        _session, bench.folder, bench.cache, bench.count(_SPILLS[-1]), _MANY_NODES
    )
    return Outcome(figures, met)


def _session(folder: Path, cache: Path, spills: int, nodes: int) -> dict[str, Any]:
    """On the local store: everything read; one more spill on top of the snapshot; nothing new."""
    engine = load_rules(cache)
    kinds = system_lines(engine.plans.of(Source.SYSLOG))
    place = folder / f"service-{spills}-{nodes}"
    with local_store(place) as store:
        service = Service(store, lambda: engine, time.time)
        job = {"job_id": "4711", "nodes": [f"node-{number:04d}" for number in range(nodes)], "state": "FAILED"}
        open_session(service, EVERYTHING, OpenRequest(job=job, attributor_id="s"))
        with watch() as ingesting:
            for number in range(spills):
                ingest(service, EVERYTHING, "s", _body(kinds, number, nodes))
        figures = {"cold": _cost(service)}
        ingest(service, EVERYTHING, "s", _body(kinds, spills, nodes))
        figures |= {"one_more": _cost(service), "again": _cost(service)}
        session = stored_session(service, "s")
    shutil.rmtree(place)
    return {
        **figures,
        "spills": spills,
        "rows": session.events if session else 0,
        "ingest_cpu_ms_each": round(ingesting.cpu / spills * 1000, 2),
    }


def _cost(service: Service) -> dict[str, float]:
    started = time.perf_counter()
    with watch() as found:
        attribute(service, EVERYTHING, "s")
    return {"cpu_s": round(found.cpu, 3), "wall_s": round(time.perf_counter() - started, 3)}


def _body(kinds: list[str], number: int, nodes: int) -> bytes:
    """The same kind of line from a hundred nodes; after all kinds come the next hundred."""
    kind, first = kinds[number % len(kinds)], number // len(kinds) * _EVENTS
    entries = [
        {"line": f"node-{(first + index) % nodes:04d} kernel: {kind}", "ts": f"2026-06-01T03:{number % 60:02d}:00Z"}
        for index in range(_EVENTS)
    ]
    return json.dumps(
        {"source": "syslog", "format": "json", "stream": f"{number}", "entry_timeseries": entries}
    ).encode()


SECTION = Section(
    "service_attribute",
    "attribute on the local store, 5,000 spills of 100 events: at most 10 s of CPU cold, 1 s with one spill more",
    _run,
)
