"""Jobs in Slurm's own JSON: ``sacct --json`` and slurmrestd's ``/slurmdb``, of 22.05 (dbv0.0.38) to 25.11 (v0.0.44)."""

from __future__ import annotations

import json
from typing import Any

from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob, SlurmStep, known_text
from attribution_blueprint.errors import CollectError

__all__ = ["parse_jobs"]


def parse_jobs(content: bytes | dict[str, Any]) -> tuple[list[SlurmJob], list[str]]:
    """The jobs of one reply, and what is wrong with those that cannot be read.

    ``CollectError`` when it is no reply at all, or holds Slurm's own errors.
    """
    reply = _object(content)
    errors = [str(_get(error, "description") or _get(error, "error") or error) for error in reply.get("errors") or ()]
    jobs = reply.get("jobs")
    if not isinstance(jobs, list):
        said = f"; it says: {'; '.join(errors)[:300]}" if errors else ""
        msg = f"Slurm's JSON: no list of jobs{said}"
        raise CollectError(msg)
    found: list[SlurmJob] = []
    unread = [f"Slurm says: {error}" for error in errors]
    for number, job in enumerate(jobs):
        try:
            read = _job(job)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            unread.append(f"jobs[{number}]: {type(error).__name__}: {error}")
            continue
        found.append(read)
    return found, unread


def _object(content: bytes | dict[str, Any]) -> dict[str, Any]:
    if isinstance(content, dict):
        return content
    try:
        reply = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        msg = f"Slurm's JSON: cannot be read ({error}); cut off?"
        raise CollectError(msg) from error
    if not isinstance(reply, dict):
        msg = "Slurm's JSON: not an object"
        raise CollectError(msg)
    return reply


def _job(job: dict[str, Any]) -> SlurmJob:
    raw = _number(job["job_id"])
    if not raw:
        msg = f"job_id {job['job_id']!r} is no number"
        raise ValueError(msg)
    state = _state(_get(job, "state", "current"), _text(_get(job, "kill_request_user")))
    code, derived = _codes(job, state)
    return SlurmJob(
        job_id=_shown_id(job, raw),
        raw_id=str(raw),
        state=state,
        sluid=_text(job.get("original_sluid") or job.get("sluid") or _get(job, "step_id", "sluid")),
        cluster=_text(job.get("cluster")),
        user=_text(job.get("user") or _get(job, "association", "user")),
        name=_text(job.get("name")),
        partition=_text(job.get("partition")),
        exit_code=code,
        derived_exit_code=derived,
        reason=_text(_get(job, "state", "reason")),
        nodes=_text(job.get("nodes")),
        failed_node=_text(job.get("failed_node")),
        submit=_number(_get(job, "time", "submission")) or None,
        start=_number(_get(job, "time", "start")) or None,
        end=_number(_get(job, "time", "end")) or None,
        workdir=_text(job.get("working_directory")),
        submit_line=_text(job.get("submit_line")),
        stdout=_path(job, "stdout"),
        stderr=_path(job, "stderr"),
        restarts=_number(job["restart_cnt"]) if "restart_cnt" in job else None,
        steps=tuple(_step(step) for step in job.get("steps") or ()),
    )


def _codes(job: dict[str, Any], state: str) -> tuple[str, str]:
    """Exit code and derived exit code. dbv0.0.38 (22.05) writes 0 and SUCCESS for every job, failed ones too."""
    code, derived = _code(job.get("exit_code")), _code(job.get("derived_exit_code"))
    silent = code == "0:0" and state.startswith(("FAILED", "OUT_OF_MEMORY"))
    return ("", "" if derived == "0:0" else derived) if silent else (code, derived)


def _step(step: dict[str, Any]) -> SlurmStep:
    name = _get(step, "step", "id")
    if isinstance(name, dict):  # before 23.11 some versions give the id taken apart
        name = name.get("step_id")
    shown = _text(name).rpartition(".")[2]
    return SlurmStep(shown, _state(step.get("state"), ""), _code(step.get("exit_code")), _text(step.get("submit_line")))


def _shown_id(job: dict[str, Any], raw: int) -> str:
    array, task = _number(_get(job, "array", "job_id")), _number(_get(job, "array", "task_id"))
    if array and task is not None:
        return f"{array}_{task}"
    het, offset = _number(_get(job, "het", "job_id")), _number(_get(job, "het", "job_offset"))
    return f"{het}+{offset or 0}" if het else str(raw)


def _state(value: Any, killer: str) -> str:
    """States are one word until 23.02, then a list of a base state and its flags."""
    words = [str(word) for word in (value if isinstance(value, list) else [value]) if word]
    state = ",".join(words)
    return f"CANCELLED by {killer}" if state == "CANCELLED" and killer else state


def _code(value: Any) -> str:
    """``code:signal``; 22.05 puts the signal's number beside the code, later ones into an object with id and name."""
    if not isinstance(value, dict):
        return ""
    signal = value.get("signal")
    number = _number(_get(signal, "id")) or _number(_get(signal, "signal_id")) or 0 if isinstance(signal, dict) else 0
    code = _number(value.get("return_code"))
    return "" if code is None and not number else f"{code or 0}:{number}"


def _path(job: dict[str, Any], name: str) -> str | None:
    if name not in job and f"{name}_expanded" not in job:
        return None
    return _text(job.get(f"{name}_expanded")) or _text(job.get(name))


def _number(value: Any) -> int | None:
    """A number as it is, or as ``{"set": true, "infinite": false, "number": 3}``."""
    if isinstance(value, dict):
        return _number(value.get("number")) if value.get("set") and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    return known_text(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _get(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
