"""Application rules as a whole: stacks of several lines, collectors, and the order of failures in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sample_cases import bundled_engine

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.verdict import Verdict

_TRACEBACK = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/user1/proj/train.py", line 12, in main
[rank3]:     loss = step(batch)
[rank3]:   File "/opt/env/lib/python3.11/site-packages/torch/nn/functional.py", line 9, in linear
[rank3]:     return torch._C._nn.linear(input, weight, bias)
[rank3]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x512 and 1024x10)""".splitlines()


def attribute(lines: Sequence[str], **job: Any) -> Verdict:
    """The verdict over one application log of a failed job on two nodes."""
    facts = {"job_id": "1", "nodes": ["node-0001", "node-0002"], "state": "FAILED", **job}
    with Attributor(JobInfoBuilder.from_mapping(facts).build(), bundled_engine()) as attributor:
        attributor.ingest(Observation(Source.APPLOG, stream="applog.log", text=("\n".join(lines) + "\n").encode()))
        return attributor.attribute()


def collected(lines: Sequence[str], name: str) -> Any:
    """One entry of the verdict's collections."""
    return attribute(lines).collections[name]


def root_of(verdict: Verdict) -> str:
    """The root symptom, which these tests expect to exist."""
    assert verdict.root_cause is not None
    return verdict.root_cause.symptom


def test_tracebacks_show_the_innermost_frame_of_the_users_own_code() -> None:
    (traceback,) = collected(_TRACEBACK, "tracebacks")["tracebacks"]
    assert traceback["user_frame"] == "/home/user1/proj/train.py:12 in main"
    assert traceback["frame"].endswith("torch/nn/functional.py:9 in linear")
    assert traceback["ranks"] == [3]


def test_a_chained_exception_says_how_it_follows() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/user1/a.py", line 1, in f',
        "KeyError: 'x'",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        '  File "/home/user1/a.py", line 3, in g',
        "ValueError: no x",
    ]
    assert [item["chained"] for item in collected(lines, "tracebacks")["tracebacks"]] == [None, "caused by it"]


def test_first_errors_name_the_rank_that_failed_first() -> None:
    lines = ["[rank7]: KeyError: 'a'", "[rank2]: ValueError: b", "[rank7]: ValueError: c"]
    first = collected(lines, "first_errors")
    assert first["total"] == 2
    assert [(item["who"], item["symptom"]) for item in first["first"]] == [
        ("rank 7", "Python KeyError"),
        ("rank 2", "Python ValueError"),
    ]


def test_progress_keeps_the_last_step() -> None:
    lines = [f" iteration {step:8d}/     300 | consumed samples: 64 | lm loss: 1.0E+00 |" for step in (1, 2, 57)]
    progress = collected(lines, "progress")
    assert progress["last"][0]["at"] == "57"
    assert progress["reached_step_1"]


def test_progress_tells_that_no_step_was_ever_done() -> None:
    assert not collected(["  0%|          | 0/1870 [00:00<?, ?it/s]"], "progress")["reached_step_1"]


def test_versions_list_every_version_of_a_component() -> None:
    lines = [
        "PyTorch version 2.6.0+cu124 available.",
        "NCCL version 2.21.5+cuda12.4",
        "PyTorch version 2.5.1 available.",
    ]
    versions = collected(lines, "versions")
    assert versions["torch"] == ["2.5.1", "2.6.0+cu124"]
    assert versions["nccl"] == ["2.21.5+cuda12.4"]


@pytest.mark.parametrize(
    "line",
    [
        "INFO number of nan iterations: 0",
        "INFO:hypercorn.error:Running on http://0.0.0.0:51470",
        "training has 30 minutes remaining before the configured wall-time limit",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32",
        "wandb: Network error (ConnectionError), entering retry loop.",
    ],
)
def test_a_harmless_line_decides_nothing(line: str) -> None:
    assert attribute([line]).outcome == "unknown"


def test_interleaved_ranks_keep_the_root_of_a_traceback() -> None:
    noise = [f"[rank{rank}]: step 1 loss 2.0" for rank in range(8) if rank != 3]
    mixed = [line for own in _TRACEBACK for line in (*noise, own)]
    assert root_of(attribute(mixed)) == root_of(attribute(_TRACEBACK)) == "Tensor shape mismatch"


def test_the_line_alone_finds_the_root_of_a_cut_off_traceback() -> None:
    verdict = attribute(_TRACEBACK[-1:])
    assert root_of(verdict) == "Tensor shape mismatch"


def test_thousands_of_ranks_that_follow_leave_the_first_failure_the_root() -> None:
    lines = ["[rank17]: IndexError: list index out of range"]
    lines += [f"[rank{rank}]: ValueError: peer {rank} sent nothing" for rank in range(3000)]
    verdict = attribute(lines)
    assert root_of(verdict) == "Python IndexError"
    assert verdict.root_cause is not None
    assert verdict.root_cause.rank == 17


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 9_999), st.sampled_from([1, 9_999, 3, 7, 4_999, 6_667]))
def test_of_ten_thousand_unplaced_ranks_with_one_error_the_first_to_fail_is_the_root(first: int, step: int) -> None:
    """In whatever order they follow: no line names a node or a time, and all say the same."""
    ranks = [(first + step * turn) % 10_000 for turn in range(10_000)]
    verdict = attribute([f"[rank{rank}]: ValueError: nothing was sent" for rank in ranks])
    assert verdict.root_cause is not None
    assert (verdict.root_cause.rank, verdict.root_cause.line_num) == (ranks[0], 1)
    (row,) = [row for row in verdict.symptoms if row.state == "root"]
    assert (row.occurrences, row.ranks) == (10_000, 10_000)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.sampled_from(
                [
                    "Traceback (most recent call last):",
                    "Exception ignored in: <x>",
                    "During handling of the above exception, another exception occurred:",
                    '  File "a.py", line 1, in f',
                    "Fatal Python error: Segmentation fault",
                    "Current thread 0x1 (most recent call first):",
                    '  File "a.py", line 1 in f',
                    "CUDA error: ",
                    "KeyError",
                    "│ /a.py:1 in f │",
                ]
            ),
        ),
        max_size=25,
    )
)
def test_no_text_makes_an_application_rule_raise(lines: list[str]) -> None:
    assert attribute([line.replace("\n", " ") for line in lines]).diagnostics == []
