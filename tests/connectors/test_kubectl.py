"""``kubectl``: programs that print what kubectl prints; tests/kubernetes has the real one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.log.kubectl import KubectlLog, KubectlLogSettings
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_lib.observation import Observation


def collected(
    tmp_path: Path, program: str, reasons: list[str], pods: Sequence[str] = ("team-a/p-0",), *, seconds: float = 10
) -> list[Observation]:
    """What comes of a program in place of kubectl, which is given ``previous`` and ``path``."""
    script = tmp_path / "kubectl.py"
    script.write_text(f"import sys, time\npath = sys.argv[-1]\nprevious = 'previous=true' in path\n{program}\n")
    places = tuple(EvidencePlace(PlaceKind.POD, pod, "train", node="gpu-1") for pod in pods)
    job = {"job_id": "team-a.llm", "start": "2026-11-29T18:00:00Z", "end": "2026-11-29T18:10:00Z", "nodes": ["gpu-1"]}
    context = ExecutionContext.of(job, adapter="kueue", places=places)
    collector = KubectlLog("kubectl", KubectlLogSettings(kubectl=(sys.executable, str(script))))
    found = []
    try:
        for observation in collector.collect(context, Budget.of(seconds)):
            found.append(observation)  # noqa: PERF402 -- what came before a failure counts
    except CollectError as error:
        reasons.append(str(error))
    return found


NO_PREVIOUS = (
    "if previous:\n"
    '    sys.exit(\'Error from server (BadRequest): previous terminated container "train" in pod "p-0" not found\')\n'
)


def test_the_log_of_a_container_is_asked_for_with_its_window_and_kept_byte_by_byte(tmp_path: Path) -> None:
    reasons: list[str] = []
    program = NO_PREVIOUS + "sys.stdout.buffer.write(path.encode() + b'\\xff\\xfe end\\n')"
    (found,) = collected(tmp_path, program, reasons)
    assert reasons == []
    assert found.text.endswith(b"\xff\xfe end\n")
    assert b"/api/v1/namespaces/team-a/pods/p-0/log?timestamps=true" in found.text
    assert b"container=train&sinceTime=2026-11-29T17%3A50%3A00" in found.text
    assert (found.stream, found.node) == ("team-a/p-0/train", "gpu-1")


def test_what_a_container_wrote_before_its_restart_is_a_stream_of_its_own(tmp_path: Path) -> None:
    found = collected(tmp_path, "print('before' if previous else 'after')", [])
    assert [one.stream for one in found] == ["team-a/p-0/train/previous", "team-a/p-0/train"]


def test_a_pod_that_is_gone_costs_only_itself(tmp_path: Path) -> None:
    program = NO_PREVIOUS + (
        "if 'p-1' in path:\n    sys.exit('Error from server (NotFound): pods \"p-1\" not found')\nprint('x')"
    )
    reasons: list[str] = []
    found = collected(tmp_path, program, reasons, ["team-a/p-1", "team-a/p-0"])
    assert [one.stream for one in found] == ["team-a/p-0/train"]
    assert 'pods "p-1" not found' in reasons[0]


def test_a_container_that_never_began_and_an_empty_log_are_no_errors(tmp_path: Path) -> None:
    waiting = 'Error from server (BadRequest): container "train" in pod "p-0" is waiting to start: ContainerCreating'
    reasons: list[str] = []
    assert collected(tmp_path, NO_PREVIOUS + f"sys.exit('{waiting}')", reasons) == []
    assert collected(tmp_path, NO_PREVIOUS, reasons) == []
    assert reasons == []


def test_who_may_not_read_is_told_what_the_server_said(tmp_path: Path) -> None:
    reasons: list[str] = []
    program = 'sys.exit(\'Error from server (Forbidden): pods "p-0" is forbidden: User "x" cannot get "pods/log"\')'
    assert collected(tmp_path, program, reasons) == []
    assert "is forbidden" in reasons[0]


def test_a_slow_kubectl_is_given_up_and_ended(tmp_path: Path) -> None:
    reasons: list[str] = []
    assert collected(tmp_path, "time.sleep(60)", reasons, seconds=0.5) == []
    assert reasons == ["gave up: timeout_seconds is over"]


def test_a_kubectl_that_is_not_there_is_said_to_be_missing() -> None:
    job = {"job_id": "x", "start": "2026-11-29T18:00:00Z"}
    place = EvidencePlace(PlaceKind.POD, "team-a/p-0")
    collector = KubectlLog("kubectl", KubectlLogSettings(kubectl="/nowhere/kubectl"))
    with pytest.raises(CollectError, match="cannot be run"):
        list(collector.collect(ExecutionContext.of(job, adapter="kueue", places=(place,)), Budget.of(2)))
