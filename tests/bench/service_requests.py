"""Requests a second of ``attribution serve``: 100-line observations, against the same server with an empty handler."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness import Bench, Outcome, Section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SECTION"]

_LINES = 100
_SESSION = "/v2/attributor/default:bench:0/observation"
_RATIO = 0.25
_EMPTY = {"statusCode": 201, "headers": {"Content-Type": "application/json"}, "body": "{}"}


def _run(bench: Bench) -> Outcome:
    requests = bench.count(600)
    figures: dict[str, Any] = {}
    for clients in (1, 8):
        empty = _measure(bench.folder, clients, requests, empty=True)
        real = _measure(bench.folder, clients, requests, empty=False)
        ratio = round(real["requests_per_s"] / empty["requests_per_s"], 3)
        figures[f"{clients}_clients"] = {"ratio": ratio, "observations": real, "empty_handler": empty}
    met = all(figures[f"{clients}_clients"]["ratio"] >= _RATIO for clients in (1, 8))
    return Outcome(figures, met)


def _measure(folder: Path, clients: int, requests: int, *, empty: bool) -> dict[str, float]:
    place = folder / f"requests-{clients}-{empty}"
    with _server(place, empty=empty) as port:
        _client(port, 100_000, 5)  # whatever is loaded on the way is loaded
        share = requests // clients
        started = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            latencies = [
                one for part in pool.map(lambda number: _client(port, number, share), range(clients)) for one in part
            ]
        elapsed = time.perf_counter() - started
    latencies.sort()
    return {
        "requests_per_s": round(len(latencies) / elapsed, 1),
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
    """A hundred lines of a training log, one of them a symptom."""
    lines = [f"[rank{number}]: step {index * _LINES + line} loss 2.{line:04d} lr 3e-4" for line in range(_LINES - 1)]
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
            handlers = server.gateway.handlers
            server.gateway.handlers = dict.fromkeys(handlers, lambda _event, _context: _EMPTY)
        else:
            open_session(server.gateway.host.service, EVERYTHING, OpenRequest(job={"job_id": "bench"}))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.port
        finally:
            server.shutdown()
            thread.join()


SECTION = Section(
    "service_requests", f"100-line observations: ≥ {_RATIO} of the rate of an empty handler, 1 and 8 clients", _run
)

if __name__ == "__main__":
    sys.exit("run tests/bench/run.py service_requests")
