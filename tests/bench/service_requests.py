"""Requests a second of ``attribution serve``: 100-line observations, against the same server with an empty handler.

Judged twice: over a store in memory, by CPU time of server and clients together, where the ratio says what the service
costs; and over a disk, as people run it, by elapsed time, where it also says how long that disk takes to sync.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Bench, Outcome, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SECTION"]

_LINES = 100
_SESSION = "/v2/attributor/default:bench:0/observation"
_RATIO = 0.25
_ROUNDS = 5
"""Of each kind, in turn; the best one counts: what else runs on the machine only ever makes a round slower."""
_MEMORY = Path("/dev/shm")  # noqa: S108 -- a RAM disk; what is made there has a random name


def _run(bench: Bench) -> Outcome:
    requests = bench.count(400)
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as memory:
        figures: dict[str, Any] = {"sync_ms": {"memory": _sync(Path(memory)), "disk": _sync(bench.folder)}}
        for clients in (1, 8):
            rounds = [
                (
                    _measure(Path(memory) / f"{number}", clients, requests, empty=True),
                    _measure(Path(memory) / f"{number}", clients, requests, empty=False),
                    _measure(bench.folder / f"{number}", clients, requests, empty=False),
                )
                for number in range(_ROUNDS)
            ]
            empties, reals, on_disk = zip(*rounds, strict=True)
            empty, real = (max(column, key=itemgetter("requests_per_cpu_s")) for column in (empties, reals))
            fastest, synced = (max(column, key=itemgetter("requests_per_s")) for column in (empties, on_disk))
            figures[f"{clients}_clients"] = {
                "ratio": round(real["requests_per_cpu_s"] / empty["requests_per_cpu_s"], 3),
                "ratio_on_disk": round(synced["requests_per_s"] / fastest["requests_per_s"], 3),
                "observations": real,
                "observations_on_disk": synced,
                "empty_handler": empty,
            }
    ratios = [figures[f"{clients}_clients"][ratio] for clients in (1, 8) for ratio in ("ratio", "ratio_on_disk")]
    met = all(ratio >= _RATIO for ratio in ratios)
    return Outcome(figures, met)


def _sync(folder: Path) -> float:
    """Milliseconds of one small write and its sync, the median of some."""
    found = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(50):
            started = time.perf_counter()
            file.write(b"x" * 2_000)
            file.flush()
            os.fsync(file.fileno())
            found.append(time.perf_counter() - started)
    return round(sorted(found)[25] * 1000, 3)


def _measure(folder: Path, clients: int, requests: int, *, empty: bool) -> dict[str, float]:
    place = folder / f"requests-{clients}-{empty}"
    with _server(place, empty=empty) as port:
        _client(port, 100_000, 5)  # whatever is loaded on the way is loaded
        share = requests // clients
        started, cpu = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(clients) as pool:
            parts = list(pool.map(lambda number: _client(port, number, share), range(clients)))
        elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    latencies = sorted(latency for part in parts for latency in part)
    return {
        "requests_per_s": round(len(latencies) / elapsed, 1),
        "requests_per_cpu_s": round(len(latencies) / cpu, 1),
        "p50_ms": round(latencies[len(latencies) // 2] * 1000, 2),
        "p99_ms": round(latencies[int(len(latencies) * 0.99)] * 1000, 2),
    }


def _client(port: int, number: int, requests: int) -> list[float]:
    """Latencies of requests sent one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found = []
    for index in range(requests):
        body = _body(number, index)
        started = time.perf_counter()
        connection.request("POST", _SESSION, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        found.append(time.perf_counter() - started)
        if answer.status != http.HTTPStatus.CREATED:
            msg = f"an observation was answered with {answer.status}"
            raise RuntimeError(msg)
    connection.close()
    return found


def _body(number: int, index: int) -> bytes:
    """A hundred lines of a job's log, one of them a symptom."""
    lines = [
        f"[rank{number}]: loaded shard {index}-{line:05d} of the corpus in 0.{line:03d} s" for line in range(_LINES - 1)
    ]
    lines.append(f"[rank{number}]: RuntimeError: CUDA error: an illegal memory access was encountered ({index})")
    fields = {"source": "applog", "format": "text", "stream": f"{number}-{index}"}
    return json.dumps({**fields, "entry_timeseries": lines}).encode()


@contextmanager
def _server(place: Path, *, empty: bool) -> Iterator[int]:
    """The port of a server in this process, with an open session unless its handlers are empty."""
    from attribution_blueprint.local_service import Serving, serving  # noqa: PLC0415 -- imports of one section only
    from attribution_service.model import OpenRequest  # noqa: PLC0415 -- likewise
    from attribution_service.service import EVERYTHING  # noqa: PLC0415 -- likewise
    from attribution_service.sessions import open_session  # noqa: PLC0415 -- likewise

    with serving(Serving(place, port=0), {}) as server:
        if empty:
            server.gateway.handlers = dict.fromkeys(server.gateway.handlers, _empty_handler())
        else:
            open_session(server.gateway.host.service, EVERYTHING, OpenRequest(job={"job_id": "bench"}))
        logging.getLogger("attribution").setLevel(logging.WARNING)  # as the command does; loading handlers sets another
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.port
        finally:
            server.shutdown()
            thread.join()


def _empty_handler() -> Any:
    """A function as the deployed ones are, whose route does nothing."""
    from attribution_service.http.answers import created  # noqa: PLC0415 -- imports of one section only
    from attribution_service.http.function import Function  # noqa: PLC0415 -- likewise
    from attribution_service.model import Receipt  # noqa: PLC0415 -- likewise

    function = Function("empty")
    receipt = Receipt(observation_id="", lines=0, events=0, truncated_lines=0, redacted=0)
    function.resolver.post("/v2/attributor/<attributor_id>/observation")(lambda attributor_id: created(receipt))  # noqa: ARG005 -- the route's parameter
    return function.handler


SECTION = Section(
    "service_requests", f"100-line observations: ≥ {_RATIO} of the rate of an empty handler, 1 and 8 clients", _run
)

if __name__ == "__main__":
    sys.exit("run tests/bench/run.py service_requests")
