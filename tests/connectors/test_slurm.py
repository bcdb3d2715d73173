"""``slurm``: what sacct printed on a real cluster (22.05), and the shapes of later versions as documented."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.slurm.adapter import SlurmAdapter, SlurmSettings
from attribution_blueprint.connectors.eca.slurm.contexts import attempts_of
from attribution_blueprint.connectors.eca.slurm.json_jobs import parse_jobs
from attribution_blueprint.connectors.eca.slurm.output_files import output_patterns
from attribution_blueprint.connectors.eca.slurm.parsable import columns_of, parse_controller_jobs, parse_sacct
from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob
from attribution_blueprint.errors import CollectError, DiscoveryError

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parent / "data" / "slurm"
ROWS = (DATA / "sacct-22.05.txt").read_bytes()
HELP = (DATA / "helpformat-22.05.txt").read_bytes()
CONTROLLER = (DATA / "scontrol-22.05.txt").read_bytes()
NOW = 1_795_977_000


class Recorded:
    """Answers commands from what was recorded, and keeps what was asked."""

    def __init__(self, rows: bytes = ROWS, *, helpformat: bytes = HELP, controller: bytes | None = CONTROLLER) -> None:
        self.rows, self.helpformat, self.controller = rows, helpformat, controller
        self.asked: list[list[str]] = []

    def __call__(self, words: Sequence[str], budget: Budget) -> bytes:
        budget.remaining()
        self.asked.append(list(words))
        if "scontrol" in words:
            if self.controller is None:
                msg = "scontrol: failed (1): Unable to contact slurm controller"
                raise CollectError(msg)
            return self.controller
        if "--helpformat" in words:
            return self.helpformat
        if "--allocations" in words:
            return b"\n".join(line.partition(b"|")[0] for line in self.rows.splitlines() if b"." not in line[:9])
        return self.rows


def discovered(run: Recorded, **settings: Any) -> dict[str, Any]:
    adapter = SlurmAdapter("slurm", SlurmSettings(**settings), run, lambda: NOW)
    return {context.key: context for context in adapter.discover(Budget.of(5))}


def test_failed_jobs_of_the_last_hour_are_found_with_what_accounting_says() -> None:
    found = discovered(Recorded(), since="1h")
    assert set(found) == {f"test:{number}:0" for number in range(1, 9)}
    job = found["test:3:0"]
    assert (job.info.state, job.info.nodes, job.info.user) == ("TIMEOUT", ("vm",), "root")
    assert job.info.end - job.info.start == 60_000_000
    assert not job.asked


def test_the_exit_code_tells_the_signal_that_the_script_only_echoes() -> None:
    found = discovered(Recorded(), since="1h")
    assert found["test:6:0"].info.exit_code == "11:11"
    assert found["test:4:0"].info.exit_code == "1:0"


def test_the_only_node_of_a_job_that_lost_its_node_is_the_failed_one() -> None:
    assert discovered(Recorded(), since="1h")["test:8:0"].info.failed_node == "vm"


def test_output_is_where_the_controller_says_while_it_remembers() -> None:
    found = discovered(Recorded(), since="1h")
    assert [place.name for place in found["test:1:0"].places] == ["/home/ada/oom-1.out"]


def test_without_the_controller_the_command_line_says_where_output_is() -> None:
    found = discovered(Recorded(controller=None), since="1h")
    assert [place.name for place in found["test:1:0"].places] == ["/home/ada/%x-%j.out"]
    assert [place.name for place in found["test:4:0"].places] == ["slurm-%j.out"]
    assert "output guessed" in found["test:4:0"].notes[0]


def test_only_columns_are_asked_for_that_this_sacct_knows() -> None:
    run = Recorded()
    discovered(run, ids="1")
    asked = next(words for words in run.asked if "--format" in words)
    assert "StdOut" not in asked[asked.index("--format") + 1]
    later = HELP + b" StdOut StdErr FailedNode Restarts SLUID OriginalSLUID"
    assert {"StdOut", "SLUID", "Restarts"} <= set(columns_of(later))


def test_jobs_that_were_named_are_asked_for_whatever_their_state() -> None:
    assert all(context.asked for context in discovered(Recorded(), ids=["1", "2"]).values())


def test_the_window_and_the_filters_are_pushed_down() -> None:
    run = Recorded()
    discovered(run, since="2h", users="ada,bob", partitions="gpu")
    words = " ".join(run.asked[0])
    assert "--starttime 2026-11-29T16:30:00 --endtime 2026-11-29T18:30:00" in words
    assert "--user ada,bob --partition gpu" in words


def test_what_ended_before_the_window_is_left_out() -> None:
    assert set(discovered(Recorded(), since="2026-11-29T18:19:30+00:00")) == {"test:3:0", "test:8:0"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ids": "1", "since": "2h"},
        {"ids": "1;reboot"},
        {"since": "yesterday"},
        {"since": "2026-11-29T18:00:00"},
        {"since": "1h", "users": "$(id)"},
    ],
)
def test_selections_that_say_nothing_or_too_much_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"ids|since|users"):
        SlurmSettings(**settings)


def test_what_sacct_complains_of_is_the_reason() -> None:
    def broken(words: Sequence[str], budget: Budget) -> bytes:  # noqa: ARG001 -- the runner's shape
        msg = "sacct: failed (1): Problem talking to the database: Connection refused"
        raise CollectError(msg)

    with pytest.raises(DiscoveryError, match="Connection refused"):
        SlurmAdapter("slurm", SlurmSettings(ids="1"), broken).discover(Budget.of(5))


def test_nothing_there_is_no_error() -> None:
    assert discovered(Recorded(b""), ids="99") == {}
    assert discovered(Recorded(b""), since="1h") == {}


COLUMNS = ["JobID", "JobIDRaw", "State", "Submit", "Start", "End", "NodeList", "WorkDir", "SubmitLine"]


def row(job: str, state: str, submit: int, *, nodes: str = "n1", line: str = "sbatch x.sh") -> str:
    start = f"2026-11-29T10:{submit:02d}:10"
    return f"{job}|{job}|{state}|2026-11-29T10:{submit:02d}:00|{start}|2026-11-29T10:{submit:02d}:50|{nodes}|/w|{line}"


def rows(*lines: str) -> list[SlurmJob]:
    found, unread = parse_sacct("\n".join(lines).encode(), COLUMNS)
    assert unread == []
    return found


def test_requeues_are_attempts_in_order_of_submission() -> None:
    found = attempts_of(rows(row("7", "FAILED", 5), row("7", "NODE_FAIL", 1), row("7", "REQUEUED", 3)))
    assert [(one.number, one.job.state, one.last) for one in found] == [
        (0, "NODE_FAIL", False),
        (1, "REQUEUED", False),
        (2, "FAILED", True),
    ]


def test_components_of_a_heterogeneous_job_are_one_job() -> None:
    (one,) = attempts_of(rows(row("9+0", "COMPLETED", 1, nodes="a[1-2]"), row("9+1", "FAILED", 1, nodes="b7")))
    assert (one.job.job_id, one.job.state, one.job.nodes) == ("9", "FAILED", "a[1-2],b7")


def test_tasks_of_an_array_are_jobs_and_those_that_wait_are_none() -> None:
    found = rows(row("5_3", "FAILED", 1), row("5_[4-9]", "PENDING", 1))
    assert [job.job_id for job in found] == ["5_3"]


def test_a_script_with_newlines_and_bars_stays_one_row() -> None:
    (first, second) = rows(row("1", "FAILED", 1, line="sbatch --wrap a | b\nexit 3"), row("2", "FAILED", 2))
    assert first.submit_line == "sbatch --wrap a | b\nexit 3"
    assert second.job_id == "2"


def test_of_a_number_that_came_round_again_the_later_job_is_meant() -> None:
    old = SlurmJob("7", "7", "FAILED", sluid="sA", submit=1, start=1)
    new = SlurmJob("7", "7", "FAILED", sluid="sB", submit=9, start=9)
    assert [one.job.sluid for one in attempts_of([new, old])] == ["sB"]


def test_steps_say_where_they_wrote_up_to_the_program_of_the_step() -> None:
    line = "srun -N 2 --ntasks-per-node=8 -o logs/%x_%t.out --error logs/%t.err python train.py -o model.bin"
    lines = f"{row('1', 'FAILED', 1)}\n1.0|1.0|FAILED|||||/w|{line}"
    (job,) = rows(lines)
    assert output_patterns(job, ()) == ["slurm-%j.out", "logs/%x_%t.out", "logs/%t.err"]


@given(st.binary(max_size=400))
def test_no_bytes_break_the_parsers(noise: bytes) -> None:
    parse_sacct(noise, COLUMNS)
    parse_sacct(ROWS[:200] + noise, COLUMNS)
    with suppress(CollectError):
        parse_jobs(noise)
    with suppress(CollectError):
        parse_controller_jobs(noise)


def test_the_json_of_22_05_holds_no_exit_codes_and_none_are_made_up() -> None:
    jobs, unread = parse_jobs((DATA / "sacct-22.05.json").read_bytes())
    assert unread == []
    assert [(job.job_id, job.state, job.exit_code) for job in jobs] == [("1", "FAILED", ""), ("2", "FAILED", "")]


def number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def later_job(**more: Any) -> dict[str, Any]:
    """A job in the shape of data_parser v0.0.40 to v0.0.44 (OpenAPI documents of slurmrestd)."""
    job: dict[str, Any] = {
        "job_id": 4711,
        "array": {"job_id": 0, "task_id": number(None), "task": ""},
        "het": {"job_id": 0, "job_offset": number(None)},
        "cluster": "alps",
        "user": "ada",
        "name": "train",
        "nodes": "gpu[01-02]",
        "state": {"current": ["FAILED"], "reason": "None"},
        "exit_code": {
            "status": ["SIGNALED"],
            "return_code": number(0),
            "signal": {"id": number(9), "name": "KILL"},
        },
        "derived_exit_code": {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": number(None)}},
        "time": {"submission": 100, "start": 110, "end": 170},
        "working_directory": "/w",
        "steps": [{"step": {"id": "4711.batch", "name": "batch"}, "state": ["FAILED"], "exit_code": {}}],
    }
    return {"jobs": [job | more], "errors": []}


def test_later_json_says_states_as_lists_and_numbers_as_objects() -> None:
    ((job,), unread) = parse_jobs(later_job())
    assert unread == []
    assert (job.state, job.exit_code, job.derived_exit_code) == ("FAILED", "0:9", "0:0")
    assert job.steps[0].name == "batch"
    assert job.stdout is None


def test_json_of_24_05_says_where_output_is_and_how_often_the_job_restarted() -> None:
    ((job,), _) = parse_jobs(later_job(stdout="/w/%j.out", stdout_expanded="/w/4711.out", stderr="", restart_cnt=2))
    assert (job.stdout, job.stderr, job.restarts) == ("/w/4711.out", "", 2)
    assert [one.number for one in attempts_of([job])] == [2]


def test_json_of_25_11_brings_the_sluid() -> None:
    ((job,), _) = parse_jobs(later_job(step_id={"sluid": "s7N8B5XTJ4K100", "job_id": number(4711)}))
    assert job.sluid == "s7N8B5XTJ4K100"


def test_json_names_array_tasks_and_who_cancelled() -> None:
    array = {"job_id": 4700, "task_id": number(3)}
    cancelled = {"current": ["CANCELLED"], "reason": "None"}
    ((job,), _) = parse_jobs(later_job(array=array, state=cancelled, kill_request_user="bob"))
    assert (job.job_id, job.raw_id, job.state) == ("4700_3", "4711", "CANCELLED by bob")


def test_a_job_that_is_no_job_costs_only_itself() -> None:
    reply = later_job()
    reply["jobs"].insert(0, {"job_id": None})
    jobs, unread = parse_jobs(json.dumps(reply).encode())
    assert len(jobs) == len(unread) == 1


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"jobs": [', b'{"jobs": null, "errors": [{"description": "no db"}]}']
)
def test_half_a_reply_is_an_error_with_its_reason(content: bytes) -> None:
    with pytest.raises(CollectError, match=r"cut off|not an object|no db"):
        parse_jobs(content)
