from __future__ import annotations

import pytest

from attribution_lib.text.hosts import is_level, looks_like_host

HOSTS = (
    *("node-0012", "ip-10-0-0-1", "ip-10-0-0-1.ec2.internal", "jplc7eb7-vm-0", "gpu01", "nid001234", "dgx1", "a100-n3"),
    *("gpu-12", "worker-1", "slurm-h100-209-001", "gpu1.cluster.local", "node-0001.local", "10.0.0.1"),
)
WORDS = (
    *("Traceback", "RuntimeError", "error", "error-12", "utf-8", "fp16", "sm90", "gpt-2", "bert-base-1", "python3"),
    *("epoch-3", "rank-3", "step100", "stage-1", "train.py", "step-3.py", "10", "1-2", "v1.2.3", "node", "x2"),
    *("nvidia-nvswitch0", "nvme0n1", "mlx5_core", "mlx5_0", "eth0", "ib6", "md127", "gpu0", "gpu-0"),
    *("Node-0012", "node--1", "-node1", "node-0012-", "a..b1", "", "node 1", "n" * 300 + "1"),
)


@pytest.mark.parametrize("name", HOSTS)
def test_numbered_lower_case_names_are_hosts(name: str) -> None:
    assert looks_like_host(name)


@pytest.mark.parametrize("word", WORDS)
def test_other_words_before_a_colon_are_not(word: str) -> None:
    assert not looks_like_host(word)


def test_a_level_is_known_in_any_dress() -> None:
    assert is_level("[WARN]")
    assert is_level("error:")
    assert not is_level("node-0012")
