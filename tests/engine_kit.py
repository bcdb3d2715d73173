"""What engine tests share: rules from a few lines of text, jobs and observations in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.rules.loader import RuleLoader

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import Verdict

OTHER_RULES = """
[[symptom]]
name = "Lamp lit"
outcome = "node_down"
rank = 500
scope = "node"
docs = "another rule"
[[extractor]]
name = "Lamp"
match_re = '''LAMP LIT'''
emit = { type = "bad_node", symptom = "Lamp lit" }
"""
"""One rule more than the usual ones."""
NEEDED = """
[[needed_evidence]]
name = "applog"
source = "applog"
before = 1800
after = 300
why = "applog would tell"
[[needed_evidence]]
name = "syslog"
source = "syslog"
before = 1800
after = 300
why = "syslog would tell"
[[needed_evidence]]
name = "scheduler"
source = "scheduler"
before = 1800
after = 300
why = "scheduler would tell"
[[needed_evidence]]
name = "node_metrics"
source = "node_metrics"
before = 1800
after = 300
why = "node_metrics would tell"
[[needed_evidence]]
name = "peer gone"
source = "syslog"
place = "all"
before = 1800
after = 300
why = "the peer's kernel would tell"
rest = "this node's kernel would tell too"
outcomes = ["communication_failure"]
"""
"""What verdicts that are not sure ask for."""
SYMPTOMS = """
author = "tests"
[[symptom]]
name = "Part broke"
outcome = "gpu_hardware"
rank = 900
scope = "node"
docs = "a part"
[[symptom]]
name = "Driver hung"
outcome = "gpu_driver"
rank = 850
scope = "node"
docs = "a driver"
[[symptom]]
name = "Code raised"
outcome = "application_error"
rank = 700
scope = "job"
docs = "an exception"
[[symptom]]
name = "Interrupted"
outcome = "application_error"
rank = 700
scope = "job"
teardown = true
docs = "an exception of every forced ending"
[[symptom]]
name = "Bare crash"
outcome = "ambiguous"
rank = 510
scope = "job"
docs = "a signal and nothing else"
[[symptom]]
name = "Peer gone"
outcome = "communication_failure"
rank = 320
scope = "job"
root = false
docs = "a consequence"
[[symptom]]
name = "Task exited"
outcome = "unknown"
rank = 210
scope = "job"
docs = "an echo"
[[symptom]]
name = "Stopped by user"
outcome = "user_cancelled"
rank = 250
scope = "job"
docs = "a stop line"
[[symptom]]
name = "Ran out of time"
outcome = "time_limit"
rank = 250
scope = "job"
docs = "a stop line"
[[symptom]]
name = "Done"
outcome = "success"
rank = 250
scope = "job"
docs = "a completion line"
[[symptom]]
name = "Slurm node failure"
outcome = "node_down"
rank = 500
scope = "node"
docs = "the scheduler's word"
[[symptom]]
name = "Execution cancelled by its user"
outcome = "user_cancelled"
rank = 250
scope = "job"
docs = "a fact"
[[symptom]]
name = "Execution cancelled by an operator"
outcome = "operator_cancelled"
rank = 250
scope = "job"
docs = "a fact"
[[symptom]]
name = "Scheduler state TIMEOUT"
outcome = "time_limit"
rank = 250
scope = "job"
docs = "a fact"
[[symptom]]
name = "Scheduler state PREEMPTED"
outcome = "preempted"
rank = 250
scope = "job"
docs = "a fact"
"""

EXTRACTORS = "".join(
    f"""
[[extractor]]
name = "{name}"
match_re = '''{pattern}'''
emit = {{ type = "{kind}", symptom = "{symptom}" }}
"""
    for name, pattern, kind, symptom in (
        ("Broke", "PART BROKE", "bad_node", "Part broke"),
        ("Hung", "DRIVER HUNG", "bad_node", "Driver hung"),
        ("Raised", "CODE RAISED", "bad_node", "Code raised"),
        ("Interrupt", "INTERRUPTED", "bad_node", "Interrupted"),
        ("Crashed", "BARE CRASH", "bad_node", "Bare crash"),
        ("Gone", "PEER GONE(?: peer=(?P<peer>[^ ]+))?", "bad_node", "Peer gone"),
        ("Exited", "TASK EXITED", "bad_node", "Task exited"),
        ("Stop", "STOPPED BY USER", "stop", "Stopped by user"),
        ("Limit", "OUT OF TIME", "stop", "Ran out of time"),
        ("DoneLine", "ALL DONE", "stop", "Done"),
    )
)


def engine_of(folder: Path, toml: str = "", python: str = "") -> RuleEngine:
    """An engine over the shared symptoms and extractors plus what a test adds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "base.toml").write_text(SYMPTOMS + NEEDED + EXTRACTORS, encoding="utf-8")
    if toml:
        (folder / "extra.toml").write_text(f'author = "tests"\n{toml}', encoding="utf-8")
    if python:
        (folder / "extra.py").write_text(python, encoding="utf-8")
    return RuleLoader([folder]).build()


def job(**fields: Any) -> JobInfo:
    """A failed two-node job, with what a test says otherwise."""
    return JobInfoBuilder(**{"job_id": "4711", "nodes": ["n1", "n2"], "state": "FAILED", **fields}).build()


def applog(*lines: str, stream: str = "applog.log", node: str | None = None, first_line: int = 1) -> Observation:
    """Lines of an application log."""
    text = "".join(f"{line}\n" for line in lines).encode()
    return Observation(Source.APPLOG, stream=stream, text=text, node=node, first_line=first_line)


def syslog(*lines: str, stream: str = "syslog.log", node: str | None = None) -> Observation:
    """Lines of a system log."""
    return Observation(Source.SYSLOG, stream=stream, text="".join(f"{line}\n" for line in lines).encode(), node=node)


def verdict_of(engine: RuleEngine, *observations: Observation, **fields: Any) -> Verdict:
    """The verdict over these observations for a job with these fields."""
    with Attributor(job(**fields), engine) as attributor:
        attributor.ingest_batch(observations)
        return attributor.attribute()
