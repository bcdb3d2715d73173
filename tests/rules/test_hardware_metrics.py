"""The metric rules: what rises during a job is evidence, what stood there before is history."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import MetricSeries, Observation, ObservationFormat, Source
from attribution_lib.rules.loader import RuleLoader

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import Verdict

RULES = Path(__file__).parents[2] / "rules"
START = 1_780_282_800
"""2026-06-01T03:00:00Z."""
NODE = "node-0003"
MINUTE = 60
Samples = list[tuple[int, float]]
"""(minute of the job, value)."""
RISES: Samples = [(0, 5), (10, 5), (11, 8)]
STANDS: Samples = [(0, 5), (10, 5), (20, 5)]
NOT_READY = "Node not ready (Kubernetes)"
KILLED_FOR_MEMORY = "Container OOM killed (Kubernetes)"
NOT_CREATED = "Container command not found"
NOT_STARTED = "Container could not be started"
FULL = "2026-06-01 03:20:00 OSError: [Errno 28] No space left on device: '/scratch/step-900.pt'\n"
CRASH = "Jun  1 03:20:00 node-0003 kernel: NVRM: Xid (PCI:0000:9a:00): 79, GPU has fallen off the bus.\n"
CODE: Samples = [(0, 0), (10, 0), (11, 79)]


@cache
def rule_engine() -> RuleEngine:
    loader = RuleLoader([RULES])
    loader.load_all()
    return loader.build()


def verdict(metric: str, samples: Samples, *, state: str = "FAILED", log: str = "", **labels: str) -> Verdict:
    job = JobInfoBuilder.from_mapping(
        {
            "job_id": "7",
            "state": state,
            "nodes": [NODE, "node-0004"],
            "start": "2026-06-01T03:00:00Z",
            "end": "2026-06-01T04:00:00Z",
        }
    ).build()
    series = MetricSeries(
        {"__name__": metric, "Hostname": NODE, **labels},
        [((START + minute * MINUTE) * 1_000_000, value) for minute, value in samples],
    )
    with Attributor(job, rule_engine()) as attributor:
        attributor.ingest(Observation(Source.NODE_METRICS, ObservationFormat.PROMETHEUS_MATRIX, series=[series]))
        if log:
            attributor.ingest(
                Observation(Source.APPLOG, ObservationFormat.TEXT, text=log.encode(), stream="applog.log")
            )
        return attributor.attribute()


def symptoms(found: Verdict) -> set[str]:
    return {row.symptom for row in found.symptoms if row.source == "node_metrics"}


@pytest.mark.parametrize(
    ("metric", "symptom"),
    [
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "GPU double-bit ECC errors (metric)"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "GPU row remap failed (metric)"),
        ("node_edac_uncorrectable_errors_total", "Uncorrected memory errors (metric)"),
    ],
)
def test_a_rise_of_uncorrectable_errors_blames_the_node(metric: str, symptom: str) -> None:
    found = verdict(metric, RISES, gpu="2")

    assert found.root_cause is not None
    assert found.root_cause.symptom == symptom
    assert [node.node for node in found.bad_nodes] == [NODE]


@pytest.mark.parametrize(
    ("metric", "samples", "symptom"),
    [
        ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", RISES, "GPU memory repairs (metric)"),
        ("DCGM_FI_DEV_ROW_REMAP_PENDING", [(0, 0), (5, 1)], "GPU memory repairs (metric)"),
        ("DCGM_FI_DEV_RETIRED_DBE", RISES, "GPU memory repairs (metric)"),
        ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", [(0, 0), (5, 5000)], "GPU memory repairs (metric)"),
        ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", RISES, "NVLink errors (metric)"),
        ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", [(0, 0), (1, 200)], "NVLink errors (metric)"),
        ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", [(0, 0), (1, 2000)], "NVLink errors (metric)"),
        ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", [(0, 0), (1, 100)], "PCIe replays of a GPU (metric)"),
        ("DCGM_FI_DEV_PCIE_LINK_WIDTH", [(0, 16), (5, 8)], "GPU PCIe link narrow (metric)"),
        ("DCGM_FI_DEV_GPU_TEMP", [(0, 64), (5, 95)], "GPU hot (metric)"),
        ("roce_adp_retrans_total", [(0, 0), (4, 150)], "performance_roce_adp_retrans_high"),
        ("node_infiniband_roce_adp_retransmits_total", [(0, 0), (4, 150)], "performance_roce_adp_retrans_high"),
        ("node_infiniband_roce_adp_retransmits_timeout_total", RISES, "performance_roce_adp_retrans_high"),
        ("node_infiniband_link_downed_total", RISES, "IB link losses (metric)"),
        ("node_infiniband_link_error_recovery_total", RISES, "IB link losses (metric)"),
        ("node_infiniband_local_ack_timeout_errors_total", RISES, "IB transport errors (metric)"),
        ("node_infiniband_req_cqes_errors_total", RISES, "IB transport errors (metric)"),
        ("node_infiniband_packet_sequence_errors_total", [(0, 0), (4, 150)], "IB transport errors (metric)"),
        ("node_infiniband_symbol_error_total", [(0, 0), (30, 500)], "Wire errors of a port (metric)"),
        ("node_infiniband_local_link_integrity_errors_total", RISES, "Wire errors of a port (metric)"),
        ("node_infiniband_rx_icrc_encapsulated_errors_total", RISES, "Wire errors of a port (metric)"),
        ("node_infiniband_state_id", [(0, 4), (5, 1)], "IB link losses (metric)"),
        ("node_infiniband_physical_state_id", [(0, 5), (5, 3)], "IB link losses (metric)"),
        ("node_infiniband_rate_bytes_per_second", [(0, 50e9), (5, 25e9)], "IB link losses (metric)"),
        ("node_infiniband_req_remote_access_errors_total", RISES, "IB transport errors (metric)"),
        ("node_infiniband_req_remote_invalid_request_errors_total", RISES, "IB transport errors (metric)"),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", [(0, 0), (4, 90e9)], "GPU hot (metric)"),
        ("node_filesystem_avail_bytes", [(0, 9e9), (5, 4096)], "File system full (metric)"),
        ("node_filesystem_files_free", [(0, 800), (5, 0)], "File system full (metric)"),
        ("node_filesystem_device_error", [(0, 0), (5, 1)], "File system does not answer (metric)"),
        ("up", [(0, 1), (5, 0), (6, 0), (7, 0), (8, 0)], "Exporters of a node silent (metric)"),
        ("node_vmstat_oom_kill", RISES, "OOM kills on the node (metric)"),
        ("container_oom_events_total", RISES, "OOM kills on the node (metric)"),
        ("node_edac_correctable_errors_total", [(0, 0), (30, 500)], "Corrected hardware error"),
        ("node_boot_time_seconds", [(0, START - 9_000), (30, START + 1_500)], "Node booted"),
        ("node_cpu_package_throttles_total", [(0, 0), (4, 150)], "CPU throttled for heat"),
        ("node_filesystem_readonly", [(0, 0), (5, 1)], "File system remounted read-only"),
        ("DCGM_FI_DEV_NVSWITCH_NON_FATAL_ERRORS", [(0, 0), (5, 12028)], "SXID-12028-NPORT_EGRESS_PRIVRSPERR"),
        ("node_ethtool_received_crc_errors_phy", [(0, 0), (30, 500)], "Wire errors of a port (metric)"),
        ("node_ethtool_received_symbol_err_phy", [(0, 0), (30, 500)], "Wire errors of a port (metric)"),
        ("node_ethtool_transmitted_timeout", RISES, "NIC transmit time-outs (metric)"),
        ("node_ethtool_wd_expired", RISES, "NIC transmit time-outs (metric)"),
        ("node_ethtool_conntrack_allowance_exceeded", RISES, "Network allowance of the instance exceeded (metric)"),
        ("node_procs_blocked", [(0, 2), (5, 64)], "Processes blocked in the kernel (metric)"),
    ],
)
def test_an_anomaly_is_shown_and_blames_nobody(metric: str, samples: Samples, symptom: str) -> None:
    found = verdict(metric, samples)

    assert symptoms(found) == {symptom}
    assert found.bad_nodes == []


# Names and labels as node_exporter's netclass collector and kube-state-metrics write them.
@pytest.mark.parametrize(
    ("metric", "samples", "labels", "symptom"),
    [
        ("node_network_carrier", [(0, 1), (5, 0)], {"device": "ens3f0np0"}, "Network link lost (metric)"),
        ("node_network_carrier", [(0, 1), (5, 0)], {"device": "docker0"}, None),
        ("node_network_carrier", [(0, 1), (5, 0)], {"device": "eni1f9a3c"}, None),
        ("node_network_carrier", [(0, 0), (5, 1)], {"device": "eth1"}, None),
        ("node_network_carrier_down_changes_total", RISES, {"device": "ib0"}, "Network link lost (metric)"),
        ("node_network_carrier_down_changes_total", RISES, {"device": "veth12ab"}, None),
        ("node_network_carrier_down_changes_total", [(0, 5), (5, 1)], {"device": "ib0"}, None),
        ("node_network_carrier_changes_total", [(0, 2), (5, 8)], {"device": "eth0"}, "Network link lost (metric)"),
        ("node_network_carrier_changes_total", [(0, 2), (5, 4)], {"device": "eth0"}, None),
        ("kube_node_status_condition", [(0, 1), (5, 0)], {"condition": "Ready", "status": "true"}, NOT_READY),
        ("kube_node_status_condition", [(0, 0), (5, 1)], {"condition": "Ready", "status": "true"}, None),
        ("kube_node_status_condition", [(0, 1), (5, 0)], {"condition": "Ready", "status": "unknown"}, None),
        ("kube_node_status_condition", [(0, 1), (5, 0)], {"condition": "DiskPressure", "status": "true"}, None),
        ("node_ethtool_link_down_events_phy", RISES, {"device": "eth0"}, "Network link lost (metric)"),
        ("node_ethtool_link_down_events_phy", RISES, {"device": "veth12ab"}, None),
        ("node_procs_blocked", [(0, 2), (5, 9)], {}, None),
        ("kube_pod_container_status_terminated_reason", [(5, 1)], {"reason": "OOMKilled"}, KILLED_FOR_MEMORY),
        ("kube_pod_container_status_last_terminated_reason", [(5, 1)], {"reason": "OOMKilled"}, KILLED_FOR_MEMORY),
        ("kube_pod_container_status_terminated_reason", [(5, 1)], {"reason": "Error"}, None),
        (
            "kube_pod_container_status_waiting_reason",
            [(5, 1)],
            {"reason": "ImagePullBackOff"},
            "Image pull keeps failing",
        ),
        ("kube_pod_container_status_waiting_reason", [(1, 1), (5, 0)], {"reason": "ImagePullBackOff"}, None),
        ("kube_pod_container_status_waiting_reason", [(5, 1)], {"reason": "CreateContainerConfigError"}, NOT_CREATED),
        ("kube_pod_container_status_waiting_reason", [(5, 1)], {"reason": "CreateContainerError"}, NOT_STARTED),
        ("kube_pod_container_status_waiting_reason", [(5, 1)], {"reason": "ContainerCreating"}, None),
        ("node_infiniband_state_id", [(0, 1), (5, 4)], {"device": "mlx5_2", "port": "1"}, None),
        ("node_filesystem_avail_bytes", [(0, 0), (5, 0)], {"mountpoint": "/boot/efi"}, None),
        ("node_filesystem_avail_bytes", [(0, 9e9), (5, 2e6)], {"mountpoint": "/var"}, None),
        ("node_filesystem_device_error", [(0, 1), (5, 1)], {"mountpoint": "/home/a/fuse"}, None),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", [(0, 0), (4, 2e9)], {"gpu": "1"}, None),
        ("up", [(0, 1), (5, 0), (6, 1)], {"job": "node"}, None),
    ],
)
def test_labels_and_the_state_before_tell_a_fault_from_what_comes_and_goes(
    metric: str, samples: Samples, labels: dict[str, str], symptom: str | None
) -> None:
    found = verdict(metric, samples, **labels)

    assert symptoms(found) == ({symptom} if symptom else set())
    assert found.bad_nodes == []


def test_an_exporter_that_does_not_answer_names_no_fault() -> None:
    found = verdict("up", [(0, 1), *((minute, 0.0) for minute in range(5, 20))])

    assert found.outcome == "unknown"


@pytest.mark.parametrize(
    ("metric", "samples", "labels"),
    [
        ("node_filesystem_avail_bytes", [(0, 9e9), (5, 0)], {"mountpoint": "/scratch"}),
        ("node_filesystem_device_error", [(0, 0), (5, 1)], {"mountpoint": "/scratch"}),
        ("node_network_carrier", [(0, 1), (5, 0)], {"device": "eth1"}),
        ("node_infiniband_state_id", [(0, 4), (5, 1)], {"device": "mlx5_2"}),
        ("kube_node_status_condition", [(0, 1), (5, 0)], {"condition": "Ready", "status": "true"}),
        ("up", [(0, 1), *((minute, 0.0) for minute in range(5, 20))], {}),
    ],
)
def test_a_hint_of_metrics_takes_nothing_from_a_log_that_proves_the_cause(
    metric: str, samples: Samples, labels: dict[str, str]
) -> None:
    found = verdict(metric, samples, log=FULL, **labels)

    assert symptoms(found) != set()
    assert found.root_cause is not None
    assert found.root_cause.symptom == "No space left on device"
    assert found.outcome == "application_error"


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("kube_node_status_condition", {"condition": "Ready", "status": "true"}),
        ("node_network_carrier", {"device": "ens3f0np0"}),
        ("up", {}),
    ],
)
def test_what_a_crash_takes_along_is_no_cause(metric: str, labels: dict[str, str]) -> None:
    silent: Samples = [(0, 1), *((minute, 0.0) for minute in range(21, 30))]
    found = verdict(metric, silent, log=CRASH, **labels)

    assert symptoms(found) != set()
    assert found.root_cause is not None
    assert found.root_cause.symptom == "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"
    assert [node.node for node in found.bad_nodes] == [NODE]


@pytest.mark.parametrize("metric", sorted({rule.metric for rule in rule_engine().metric_rules}))
def test_a_value_that_stands_is_history(metric: str) -> None:
    samples = STANDS if metric != "DCGM_FI_DEV_PCIE_LINK_WIDTH" else [(0, 16.0), (20, 16.0)]

    assert symptoms(verdict(metric, samples, xid="79")) <= {"XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"}


def test_a_change_of_the_last_xid_is_that_xid() -> None:
    found = verdict("DCGM_FI_DEV_XID_ERRORS", CODE, gpu="2")

    assert found.root_cause is not None
    assert found.root_cause.symptom == "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"
    assert found.root_cause.evidence.startswith('DCGM_FI_DEV_XID_ERRORS{Hostname="node-0003",gpu="2"} 0 → 79 at ')


def test_an_old_xid_that_the_exporter_still_shows_is_not_this_jobs() -> None:
    assert symptoms(verdict("DCGM_FI_DEV_XID_ERRORS", [(0, 79), (30, 79)])) == set()


def test_a_gauge_that_goes_back_to_no_xid_says_nothing() -> None:
    assert symptoms(verdict("DCGM_FI_DEV_XID_ERRORS", [(0, 79), (30, 0)])) == set()


def test_an_unknown_code_is_a_symptom_too() -> None:
    assert symptoms(verdict("DCGM_FI_DEV_XID_ERRORS", [(0, 0), (30, 777)])) == {"XID-UNKNOWN"}


def test_a_repair_that_was_recorded_is_no_failure() -> None:
    found = verdict("DCGM_FI_DEV_XID_ERRORS", [(0, 0), (30, 63)], state="COMPLETED")

    assert found.bad_nodes == []
    assert found.outcome == "success"


@pytest.mark.parametrize("metric", ["DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_XID_ERRORS_TOTAL"])
def test_counts_by_code_name_the_code_in_a_label(metric: str) -> None:
    found = verdict(metric, [(0, 0), (30, 1)], xid="74", gpu="1")

    assert symptoms(found) == {"XID-74-NVLINK_ERROR"}


def test_a_fatal_switch_error_is_its_sxid() -> None:
    found = verdict("DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS", [(0, 0), (30, 20034)])

    assert symptoms(found) == {"SXID-20034-DLPL_LTSSM_FAULT_UP"}
    assert [node.node for node in found.bad_nodes] == [NODE]


@pytest.mark.parametrize(("model", "hot"), [("NVIDIA H100 80GB HBM3", True), ("NVIDIA L40S", False)])
def test_temperature_limits_depend_on_the_board(model: str, hot: bool) -> None:  # noqa: FBT001 -- a parametrised fact
    found = verdict("DCGM_FI_DEV_GPU_TEMP", [(0, 64), (5, 88)], modelName=model)

    assert bool(symptoms(found)) is hot


def test_memory_temperature_limits_are_those_of_hbm() -> None:
    found = verdict("DCGM_FI_DEV_MEMORY_TEMP", [(0, 64), (5, 97)], modelName="NVIDIA A100-SXM4-80GB")

    assert symptoms(found) == {"GPU hot (metric)"}
