"""``slurmrestd`` against a server that answers as it does; tests/slurm has the real one (22.05)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.slurm.rest import SlurmRestAdapter, SlurmRestSettings
from attribution_blueprint.errors import DiscoveryError
from replay_kit import Answer, Asked, replaying

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_blueprint.context import ExecutionContext

NOW = 1_795_977_000
CLAIMS = base64.urlsafe_b64encode(json.dumps({"sun": "ada", "exp": NOW}).encode()).decode().rstrip("=")
TOKEN = f"head.{CLAIMS}.signature"


def reply(**more: Any) -> bytes:
    job = {"job_id": 4711, "cluster": "alps", "nodes": "gpu[1-2]", "state": {"current": ["FAILED"], "reason": "None"}}
    job |= {"time": {"submission": NOW - 90, "start": NOW - 80, "end": NOW - 20}, "stdout": "/w/4711.out", "stderr": ""}
    return json.dumps({"jobs": [job | more], "errors": []}).encode()


def discovered(url: str, **settings: Any) -> list[ExecutionContext]:
    chosen = SlurmRestSettings(
        url=url, **({"since": "1h", "token": TOKEN, "tries": 2, "request_seconds": 1} | settings)
    )
    return SlurmRestAdapter("slurmrestd", chosen, lambda: NOW).discover(Budget.of(10))


def test_jobs_of_the_window_are_asked_for_in_the_name_of_the_token_s_user() -> None:
    with replaying(lambda *_: Answer(reply())) as server:
        (found,) = discovered(server.url, users="ada")
    (asked,) = server.asked
    assert asked.path == "/slurmdb/v0.0.40/jobs/"
    assert (asked.query["start_time"], asked.query["users"]) == (str(NOW - 3600), "ada")
    assert (asked.headers["x-slurm-user-token"], asked.headers["x-slurm-user-name"]) == (TOKEN, "ada")
    assert (found.info.nodes, found.places[0].name) == (("gpu1", "gpu2"), "/w/4711.out")


def test_earlier_versions_are_given_times_as_sacct_takes_them() -> None:
    with replaying(lambda *_: Answer(reply())) as server:
        discovered(server.url, api="v0.0.38")
    assert server.asked[0].query["start_time"] == f"uts{NOW - 3600}"


def test_a_named_job_is_asked_for_by_itself_whatever_its_state() -> None:
    with replaying(lambda *_: Answer(reply(state={"current": ["COMPLETED"]}))) as server:
        (found,) = discovered(server.url, since="", ids="4711")
    assert server.asked[0].path == "/slurmdb/v0.0.40/job/4711"
    assert found.asked


def test_completed_jobs_are_left_out() -> None:
    with replaying(lambda *_: Answer(reply(state={"current": ["COMPLETED"]}))) as server:
        assert discovered(server.url) == []


def test_a_token_that_expired_is_made_anew_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"sh,-c,echo x >> {count}; echo SLURM_JWT={TOKEN}"

    def answer(_: Asked, number: int) -> Answer:
        return Answer(b"Authentication failure", 401) if number == 0 else Answer(reply())

    with replaying(answer) as server:
        assert len(discovered(server.url, token="", token_command=command)) == 1
    assert server.asked[1].headers["x-slurm-user-token"] == TOKEN


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"Authentication failure", 401), "401 Authentication failure"),
        (Answer(reply()[:-20]), "cut off"),
        (Answer(reply(), cut=9), "Incomplete|bytes"),
        (
            Answer(b'{"jobs": null, "errors": [{"description": "Unable to connect to database"}]}'),
            "connect to database",
        ),
        (Answer(b"", 503), "503"),
        (Answer(reply(), after=3), "imed out|Timeout"),
        (Answer(b"\xff\xfe"), "cut off"),
    ],
)
def test_what_cannot_be_read_is_the_reason(answer: Answer, reason: str) -> None:
    with replaying(lambda *_: answer) as server, pytest.raises(DiscoveryError, match=reason):
        discovered(server.url)


def test_nothing_there_is_no_error() -> None:
    with replaying(lambda *_: Answer(b'{"jobs": [], "errors": []}')) as server:
        assert discovered(server.url) == []
