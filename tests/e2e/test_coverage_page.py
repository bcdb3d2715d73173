"""Every kind of failure is shown by a sample, a near miss and a situation in which it is only the consequence."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from coverage_page import Category, Prover, page, read_categories
from sample_cases import bundled_engine

CATEGORIES = {
    "GPU lost from bus",
    "GPU memory (HBM/SRAM, DBE, remap)",
    "GSP",
    "NVLink/NVSwitch",
    "PCIe/riser/IO board",
    "GPU thermal/power",
    "IB link/switch/cable/flap",
    "NIC/mlx5",
    "Ethernet link",
    "NCCL timeout alone",
    "NCCL remote error/ACK timeout",
    "CUDA error of unclear domain",
    "illegal access/assert by the program",
    "host OOM/cgroup OOM",
    "CUDA OOM",
    "CPU (lockup, hung task, MCE, overload)",
    "system memory",
    "kernel panic/oops/reboot",
    "SSD/NVMe/RAID/read-only",
    "network file systems",
    "object store",
    "disk full/quota",
    "checkpoint read/write/compatibility",
    "dataset/DataLoader/shm",
    "script errors by type",
    "NaN/Inf/silent corruption/loss spike",
    "driver/firmware/library mismatch",
    "container/image/kubelet",
    "scheduler (time limit, preempted, cancelled, node fail, requeue, drain, maintenance)",
    "PSU/fan/chassis/BMC",
    "external service",
    "slow rank/straggler",
    "hang without message",
    "manual restart",
    "unknown",
}


@cache
def prover() -> Prover:
    return Prover(bundled_engine())


def category(name: str) -> Category:
    return next(row for row in read_categories() if row.name == name)


def test_every_kind_of_failure_has_its_row() -> None:
    names = [row.name for row in read_categories()]
    assert len(names) == len(set(names))
    assert set(names) == CATEGORIES


@pytest.mark.parametrize("row", read_categories(), ids=lambda row: row.name)
def test_the_examples_of_a_category_prove_it(row: Category) -> None:
    proved = prover().row(row)
    assert proved.faults == ()
    assert "**missing**" not in page([proved])


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"hit": ""}, "hit: nothing is decided by None"),
        (
            {"hit": "detector-loss-is-nan-stopping-training"},
            "hit: detector-loss-is-nan-stopping-training is decided by",
        ),
        ({"miss": ""}, "miss: "),
        ({"miss": "critical temperature reached, shutting down"}, "miss: "),
        ({"miss": "DataLoader successfully read file"}, "miss: "),
        ({"cascade": ""}, "cascade: in nothing"),
        ({"cascade": "a nan iteration counter at zero decides nothing"}, "cascade: in a nan iteration counter"),
        ({"patterns": ("Power suply failed",)}, "no symptom is called Power suply failed"),
    ],
)
def test_an_example_that_proves_nothing_is_named(wrong: dict[str, object], fault: str) -> None:
    row = prover().row(replace(category("PSU/fan/chassis/BMC"), **wrong))  # type: ignore[arg-type]
    assert any(text.startswith(fault) for text in row.faults)


def test_a_symptom_that_is_the_root_itself_is_no_consequence() -> None:
    chassis = category("PSU/fan/chassis/BMC")
    decided = replace(chassis, cascade=chassis.hit)
    assert any(text.startswith("cascade: ") for text in prover().row(decided).faults)
