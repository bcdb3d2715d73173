"""A context of 5,000 observations stays within what Step Functions allows: payloads, history, one invocation's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asl_kit import BUCKET, interpreter
from run_kit import LINE, configuration_file

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PAYLOAD_BYTES, HISTORY_EVENTS = 256 << 10, 25_000
OBSERVATIONS = 5_000


def test_five_thousand_observations_are_delivered_within_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/site.toml")
    monkeypatch.setenv("ATTRIBUTION_BUCKET", BUCKET)
    case = tmp_path / "cases" / "large"
    case.mkdir(parents=True)
    (case / "job.toml").write_text('job_id = "1000"\ncluster = "c"\nstate = "FAILED"\nnodes = ["n1"]\n')
    lines = [f"step {number}" for number in range(OBSERVATIONS - 1)]
    (case / "applog.log").write_text("\n".join([*lines, LINE, ""]))
    file = configuration_file(tmp_path, tmp_path / "cases")
    file.write_text(file.read_text().replace("[log.app.file]", "[log.app.file]\nbatch_bytes = 1"))
    with interpreter() as made:
        made.put("config/site.toml", file.read_bytes())
        ended = made.start("job", {"job_id": "1000", "adapter": "static"})
        assert ended.status == "SUCCEEDED"
        assert (ended.output["observations"], ended.output["lines"]) == (OBSERVATIONS, OBSERVATIONS)
        assert (ended.output["outcome"], ended.output["evidence_status"]) == ("gpu_out_of_memory", "complete")
        assert "IngestMany" in made.trace.states
        assert made.trace.invocations["ingest"] == OBSERVATIONS / 40
        assert ended.events < HISTORY_EVENTS / 100
        assert ended.largest_state < PAYLOAD_BYTES / 10
        assert made.trace.largest < PAYLOAD_BYTES / 10
        assert [info.key for info in made.host.service.store.objects.list("collected/")] == []
