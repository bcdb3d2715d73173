"""A judged verdict as a case folder of ``samples/``: ``job.toml`` and ``expected.toml``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import tomlkit

from attribution_lib.rfc3339 import parse_instant
from attribution_lib.taxonomy import SubDomain, sub_domain_of, terminal_state_of
from attribution_service.model import FeedbackJudgement
from dashboard.contexts.feedback import LabelledCase

if TYPE_CHECKING:
    from attribution_lib.taxonomy import Outcome
    from attribution_service.model import Feedback
    from attribution_service.result import EnrichedVerdict

__all__ = ["labelled_case"]

_NO_BAD_NODES = (SubDomain.APPLICATION, SubDomain.NONE)
_SLUG = re.compile(r"[^a-z0-9]+")
_JOB = "job_id attempt scheduler cluster user name partition state exit_code reason nodes failed_node".split()  # noqa: SIM905 -- a list of words is read as one
_MICROSECONDS = 1_000_000


def labelled_case(feedback: Feedback, verdict: EnrichedVerdict) -> LabelledCase:
    """The case; what the judgement leaves open is left open in it and said in ``note``."""
    job = {name: verdict.job[name] for name in _JOB if verdict.job.get(name) not in (None, "", [])}
    job |= {name: _moment(verdict.job[name]) for name in ("start", "end") if verdict.job.get(name)}
    expected, open_points = _expected(feedback, verdict)
    slug = _SLUG.sub("-", f"{feedback.cluster}-{feedback.job_id}-{feedback.attempt}".lower()).strip("-")
    missing = ["the files of evidence (applog.log, syslog.log, scheduler.log, node_metrics.json)", *open_points]
    return LabelledCase(
        slug=slug,
        job_toml=tomlkit.dumps(job),
        expected_toml=tomlkit.dumps(expected),
        note=f"To be added: {'; '.join(missing)}. Replace names of people, hosts and projects before it is shared.",
    )


def _expected(feedback: Feedback, verdict: EnrichedVerdict) -> tuple[dict[str, Any], list[str]]:
    right = feedback.judgement is FeedbackJudgement.RIGHT
    outcome: Outcome = feedback.outcome or verdict.outcome
    sub_domain = sub_domain_of(outcome)
    root = verdict.root_cause
    stands = right or (feedback.outcome in (None, verdict.outcome) and feedback.judgement is FeedbackJudgement.PARTLY)
    nodes = [feedback.node] if feedback.node else [bad.node for bad in verdict.bad_nodes] if stands else []
    open_points = [] if right or feedback.outcome else ["the right sub_domain, which the judgement does not name"]
    if not stands:
        open_points.append("root_symptom and root_pattern")
    if not (stands or feedback.node) and sub_domain not in _NO_BAD_NODES:
        open_points.append("bad_nodes")
    expected = {
        "terminal_state": terminal_state_of(outcome, failed=verdict.failed).value,
        "sub_domain": sub_domain.value if right or feedback.outcome else "",
        "root_symptom": root.symptom if root is not None and stands else "",
        "root_pattern": re.escape(root.evidence) if root is not None and root.line_num and stands else "",
        "bad_nodes": [] if sub_domain in _NO_BAD_NODES else nodes,
        "origin": f"judgement {feedback.feedback_id} on run {feedback.run_id}",
        "why": feedback.comment or f"judged {feedback.judgement.value}",
        "confidence": "high" if right else "medium",
    }
    return expected, open_points


def _moment(text: str) -> datetime | str:
    micros = parse_instant(text)
    return text if micros is None else datetime.fromtimestamp(micros // _MICROSECONDS, tz=UTC)
