"""The real kubectl against a small API server that replays objects: ``kueue``, ``kubectl`` and the recorder.

``make kubernetes`` installs kubectl and runs these; without it they are skipped.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kueue_kit import Cluster, condition, evict_event, job_set, pod, pod_group, workload
from replay_kit import replaying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KUBECTL = os.environ.get("ATTRIBUTION_KUBECTL", "")
pytestmark = pytest.mark.skipif(not KUBECTL, reason="needs the kubectl that `make kubernetes` installs")
LOGS = {
    "llm-0": "2026-11-29T18:08:49.100000000Z step 12\n"
    "2026-11-29T18:08:50.200000000Z torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a"
    " total capacity of 79.11 GiB of which 1.31 GiB is free.\n",
    "llm-0/previous": "2026-11-29T18:02:00.000000000Z the run before\n",
}


def access_to(url: str, folder: Path) -> str:
    """Settings of kubectl, with a kubeconfig for a server."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
                "current-context": "c",
            }
        )
    )
    return f'kubectl = "{KUBECTL}"\nkubeconfig = "{kubeconfig}"\n'


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    failed = pod("llm-0", "llm", "gpu-1", ended=(1, "Error"))
    cluster = Cluster(
        workload("llm", "JobSet", condition("Finished", "JobFinished", "jobset failed")),
        job_set("llm", condition("Failed", "FailedJobs")),
        failed,
        logs=LOGS,
    )
    with replaying(cluster.over_http()) as server:
        file, access = tmp_path / "site.toml", access_to(server.url, tmp_path)
        file.write_text(
            f'[eca.kueue]\nids = "team-a/llm"\nplacements = "placements.jsonl"\n{access}'
            f"[log.kubectl]\n{access}[output.stdout]\n"
        )
        yield file


def attribution(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- ours
        [sys.executable, "-m", "attribution_cli", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_DATA_HOME": str(folder)},
    )


def test_a_failed_job_set_is_attributed_by_what_its_pods_wrote(config: Path, tmp_path: Path) -> None:
    done = attribution("run", "--configs", str(config), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert (verdict["terminal_state"], verdict["sub_domain"], verdict["bad_nodes"]) == ("fail", "application", [])
    assert "CUDA out of memory" in verdict["root_cause"]["evidence"]
    assert verdict["job"]["nodes"] == ["gpu-1"]
    (report,) = verdict["connector_reports"]
    assert (report["status"], report["observation_count"], report["lines"]) == ("ok", 2, 3)


def test_the_recorder_keeps_where_pods_ran(config: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "attribution_cli", "watch", "kueue", "--configs", str(config)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE)  # noqa: S603 -- ours
    file = tmp_path / "placements.jsonl"
    until = time.monotonic() + 30
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said
    (row,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (row["owner"], row["name"], row["node"]) == ("llm", "llm-0", "gpu-1")


def test_a_job_that_kai_evicted_was_preempted_and_is_nobodys_fault(tmp_path: Path) -> None:
    notes = {"last-start": "2026-11-29T18:00:00Z", "last-eviction": "2026-11-29T18:07:00Z"}
    message = "Pod team-a/llm-0 was preempted by higher priority workload prod/pg-serve-1"
    event = evict_event("llm", message, "2026-11-29T18:07:00Z", "preempt", "prod/pg-serve-1")
    cluster = Cluster(pod_group("llm", notes=notes), job_set("llm"), event, schedulers=("kai",))
    with replaying(cluster.over_http()) as server:
        file = tmp_path / "kai.toml"
        file.write_text(f'[eca.kueue]\nids = "team-a/llm"\n{access_to(server.url, tmp_path)}[output.stdout]\n')
        done = attribution("run", "--configs", str(file), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert (verdict["terminal_state"], verdict["sub_domain"]) == ("preempted", "none")
    assert (verdict["job"]["scheduler"], verdict["job"]["reason"]) == ("kai", "Preempted")
