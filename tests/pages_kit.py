"""Verdicts that are hard to show: hostile text, ten thousand nodes, missing evidence, pairs; from the real engine."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence
from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_service.result import (
    ConnectorReport,
    ConnectorStatus,
    EnrichedVerdict,
    IngestionReport,
    enrich_attribution_result,
    evidence_status,
)

if TYPE_CHECKING:
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine

SAMPLES = Path(__file__).parents[1] / "samples" / "cases"
HOSTILE = (
    "<script>window.hacked=1</script>",
    "</title></textarea></svg><img src=x onerror=window.hacked=1>",
    "javascript:window.hacked=1",
    "\u202eesrever\u202c \u2066isolate\u2069 \u200bzero",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x07\x08\x9b31m",
    "nul\x00nul",
    "{{ 7*7 }} {% raw %} &amp; &lt;",
    "\" onmouseover=window.hacked=1 x='",
)
"""What log lines try."""


@dataclass(frozen=True, slots=True)
class Told:
    """What makes an enriched verdict of a raw one."""

    run_id: str = "run-1"
    attributed_at: str = "2026-06-02T10:00:00.000000Z"
    reports: tuple[ConnectorReport, ...] = ()
    ingestion: tuple[IngestionReport, ...] = ()


def attributed(engine: RuleEngine, job: JobInfo, observations: list[Observation], told: Told) -> EnrichedVerdict:
    """The enriched verdict over these observations."""
    with Attributor(job, engine) as attributor:
        attributor.ingest_batch(observations)
        verdict = attributor.attribute()
    return enrich_attribution_result(
        verdict,
        attributor_id=f"{job.cluster}:{job.job_id}:{job.attempt}",
        run_id=told.run_id,
        attributed_at=told.attributed_at,
        connector_reports=told.reports,
        ingestion_reports=told.ingestion,
    )


def text(source: Source, *lines: str) -> Observation:
    """One observation of text lines."""
    body = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    return Observation(source, stream=f"{source.value}.log", text=body)


def read(observations: list[Observation]) -> tuple[ConnectorReport, ...]:
    """The reports of collectors that read all of this."""
    return tuple(
        ConnectorReport(
            connector="file",
            instance=observation.stream,
            source=observation.source.value,
            status=ConnectorStatus.OK,
            observation_count=1,
            lines=observation.text.count(b"\n"),
        )
        for observation in observations
    )


def hostile_verdict(engine: RuleEngine, kind: int = 0) -> EnrichedVerdict:
    """Hostile text in the root line, its context, the job's facts and the reasons of collectors."""
    nasty = " ".join(HOSTILE)
    long = "A" * 1_000_000
    job = JobInfoBuilder(
        job_id=f"hostile-{kind}",
        cluster="c1",
        nodes=["node-0001"],
        state="FAILED",
        exit_code="1:0",
        name=nasty,
        user=HOSTILE[1],
        reason=nasty,
        labels={"a": HOSTILE[0], "b": HOSTILE[3]},
        start="2026-06-02T09:00:00Z",
        end="2026-06-02T09:30:00Z",
    ).build()
    lines = (*HOSTILE, f"[rank0]: RuntimeError: CUDA error: {nasty}", *reversed(HOSTILE))
    report = ConnectorReport(
        connector="loki",
        instance=HOSTILE[0],
        source="applog",
        status=ConnectorStatus.ERROR,
        observation_count=0,
        lines=0,
        reason=nasty,
    )
    made = attributed(engine, job, [text(Source.APPLOG, *lines)], Told(reports=(report,)))
    if kind or made.root_cause is None:
        return made
    # The engine cuts a line to 4 KiB; whoever stored this verdict did not.
    root = made.root_cause.model_copy(update={"evidence": f"{nasty} {long}"})
    return made.model_copy(update={"root_cause": root})


def partial_verdict(engine: RuleEngine) -> EnrichedVerdict:
    """A collector failed, one found nothing, one observation was lost."""
    evidence = read_case_folder(SAMPLES / "xid79-gpu-at-95c")
    verdict = attribute_evidence(evidence, engine)
    failed = ConnectorReport(
        connector="loki",
        instance="loki-prod",
        source="applog",
        status=ConnectorStatus.ERROR,
        observation_count=0,
        lines=0,
        reason="https://loki.example: no answer within 30 s, 3 tries",
    )
    empty = failed.model_copy(
        update={"instance": "slurm", "source": "scheduler", "status": ConnectorStatus.EMPTY, "reason": None}
    )
    lost = IngestionReport(
        connector="file", instance="syslog.log", delivered=1, duplicates=0, conflicts=0, failed=1, last_error="413"
    )
    reports = [*evidence.reports, failed, empty]
    return verdict.model_copy(
        update={
            "job": {**verdict.job, "job_id": "partial-1"},
            "run_id": "run-1",
            "attributed_at": "2026-06-02T11:00:00.000000Z",
            "connector_reports": reports,
            "ingestion_reports": [lost],
            "evidence_status": evidence_status(reports, [lost]),
            "history": {"node-0001": 4},
        }
    )


def pairs_verdict(engine: RuleEngine) -> EnrichedVerdict:
    """Many pairs of hosts that lost each other, most of them one end."""
    pick = random.Random(7)  # noqa: S311 -- test data
    nodes = [f"node-{number:04d}" for number in range(1, 41)]
    lines = []
    for number in range(120):
        source = "node-0007" if number % 3 else pick.choice(nodes)
        other = pick.randrange(1, 41)
        lines.append(
            f"{source}:4711:4800 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.{other}<5{number:04d}> with "
            f"status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_{number % 8}"
        )
    job = JobInfoBuilder(
        job_id="pairs-1",
        cluster="c1",
        nodes=nodes,
        state="FAILED",
        start="2026-06-02T09:00:00Z",
        end="2026-06-02T12:00:00Z",
    ).build()
    observations = [text(Source.APPLOG, *lines)]
    return attributed(
        engine, job, observations, Told(attributed_at="2026-06-02T12:00:00.000000Z", reports=read(observations))
    )


def huge_verdict(engine: RuleEngine) -> EnrichedVerdict:
    """A job of 10,000 nodes on which everything that the samples know happens somewhere, and one thing everywhere."""
    pick = random.Random(11)  # noqa: S311 -- test data
    nodes = [f"node-{number:05d}" for number in range(1, 10_001)]
    found: dict[Source, list[str]] = {Source.APPLOG: [], Source.SYSLOG: []}
    for case in sorted(SAMPLES.iterdir()):
        for source, lines in found.items():
            file = case / f"{source.value}.log"
            if file.is_file():
                lines.extend(file.read_text(errors="replace").splitlines()[:20])
    syslog = [
        f"2026-06-02T09:{pick.randrange(60):02d}:{pick.randrange(60):02d}.000000Z {pick.choice(nodes)} kernel: "
        + re.sub(r"^.*?(?=NVRM|mlx5|EDAC|nvme|pcieport)", "", line)
        for line in found[Source.SYSLOG]
    ]
    syslog += [
        f"2026-06-02T09:40:{number % 60:02d}.000000Z {node} kernel: NVRM: Xid (PCI:0000:{number % 8 + 1:02x}:00): 79, "
        "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        for number, node in enumerate(nodes)
    ]
    job = JobInfoBuilder(
        job_id="huge-1",
        cluster="c1",
        name="pretrain-10k",
        user="user1",
        nodes=nodes,
        state="FAILED",
        exit_code="1:0",
        start="2026-06-02T08:00:00Z",
        end="2026-06-02T10:00:00Z",
    ).build()
    # What says that somebody stopped the job, or broke it on purpose, would be the whole story.
    stops = re.compile(
        r"(?i)limit|cancel|preempt|evict|sig(?:term|hup)|terminat|kill|got signal|reboot"
        r"|inject|fault_sim|simulat|nvrx|fault_type"
    )
    applog = [line for line in found[Source.APPLOG] if not stops.search(line)]
    syslog = [line for line in syslog if not stops.search(line)]
    observations = [text(Source.SYSLOG, *syslog), text(Source.APPLOG, *applog)]
    return attributed(
        engine, job, observations, Told(attributed_at="2026-06-02T13:00:00.000000Z", reports=read(observations))
    )
