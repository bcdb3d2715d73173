"""A real Prometheus scrapes an exporter whose counters misbehave; ``promql`` finds the GPU that fell off the bus.

``make prometheus`` runs these; without it they are skipped.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    os.environ.get("ATTRIBUTION_REAL_PROMETHEUS") != "1", reason="needs the Prometheus that `make prometheus` starts"
)
SCRIPT = Path(__file__).parents[2] / "scripts" / "prometheus_up.sh"
URL = "http://127.0.0.1:29090"
HEALTHY, BROKEN = 4, 8
# Written down before the run: Xid 79 on node-0003 is a fault of that node's hardware.
EXPECTED = ("hardware", ["node-0003"], "XID-79")


class Exporter(BaseHTTPRequestHandler):
    """Two nodes of GPUs; from some second on one reports Xid 79, and a counter begins again at zero."""

    begun = math.inf
    asked = threading.Semaphore(0)

    def do_GET(self) -> None:
        Exporter.asked.release()
        seconds = max(time.monotonic() - Exporter.begun, 0.0)
        xid = 79 if seconds > HEALTHY else 0
        lines = [
            f'DCGM_FI_DEV_XID_ERRORS{{gpu="2",Hostname="node-0003"}} {xid}',
            'DCGM_FI_DEV_XID_ERRORS{gpu="2",Hostname="node-0004"} 0',
            'DCGM_FI_DEV_XID_ERRORS{gpu="1",Hostname="node-9999"} ' + ("31" if seconds > HEALTHY else "0"),
            'DCGM_FI_DEV_GPU_TEMP{gpu="2",Hostname="node-0003"} ' + ("NaN" if xid else "61"),
            f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{gpu="2",Hostname="node-0003"}} {int(seconds) % 5}',
            'some_metric_that_no_rule_names{Hostname="node-0003"} 1',
        ]
        body = ("\n".join(lines) + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """When the job ran, as RFC 3339; Prometheus keeps running meanwhile."""
    folder = tmp_path_factory.mktemp("prometheus")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    subprocess.run([str(SCRIPT), str(folder), str(server.server_address[1])], check=True)  # noqa: S603 -- ours
    started = datetime.now(UTC).isoformat()
    for _ in range(2):  # all is well until Prometheus has seen so: it looks for targets some seconds after its start
        assert Exporter.asked.acquire(timeout=60)
    Exporter.begun = time.monotonic()
    time.sleep(HEALTHY + BROKEN)
    yield started, datetime.now(UTC).isoformat()
    subprocess.run([str(SCRIPT), str(folder), "--down"], check=True)  # noqa: S603 -- ours
    server.shutdown()
    server.server_close()


def attributed(window: tuple[str, str], folder: Path, **promql: Any) -> dict[str, Any]:
    settings = {"url": URL, "step": 1} | promql
    config = folder / "site.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    job = f'job_id = "1"\nnodes = "node-[0003-0004]"\nstate = "FAILED"\nstart = "{window[0]}"\nend = "{window[1]}"'
    config.write_text(f"[eca.static]\n{job}\n[metric.promql]\n" + "\n".join(lines) + "\n[output.stdout]\n")
    done = subprocess.run(  # noqa: S603 -- ours
        [sys.executable, "-m", "attribution_cli", "run", "--configs", str(config)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_DATA_HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return verdict


def test_the_gpu_that_fell_off_the_bus_is_found(window: tuple[str, str], tmp_path: Path) -> None:
    verdict = attributed(window, tmp_path)
    nodes = [node["node"] for node in verdict["bad_nodes"]]
    print(verdict["sub_domain"], nodes, verdict["root_cause"]["symptom"])  # noqa: T201 -- what make prometheus shows
    assert (verdict["sub_domain"], nodes) == EXPECTED[:2]
    assert verdict["root_cause"]["symptom"].startswith(EXPECTED[2])
    assert verdict["evidence_status"] == "complete", verdict["connector_reports"]


def test_short_stretches_say_the_same_as_one(window: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, cut = attributed(window, tmp_path / "a"), attributed(window, tmp_path / "b", points=16, nodes_at_once=1)
    assert whole["root_cause"]["timestamp"] == cut["root_cause"]["timestamp"]
    assert cut["connector_reports"][0]["observation_count"] > whole["connector_reports"][0]["observation_count"]


def test_metrics_that_no_rule_names_are_not_asked_for(window: tuple[str, str], tmp_path: Path) -> None:
    (report,) = attributed(window, tmp_path)["connector_reports"]
    assert report["lines"] == 4  # series of two nodes; neither the unknown metric nor the other job's node
