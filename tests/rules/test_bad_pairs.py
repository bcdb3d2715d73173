"""The collector bad_pairs and the vote over its pairs: ENGINE §9, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.sample_cases import bundled_engine

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import LogEntries, Observation, ObservationFormat, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.verdict import Verdict

NODES = ["node-0001", "node-0002", "node-0003", "node-0004", "node-0005", "node-0006", "node-0007", "node-0008"]


def warn(host: str, peer: str, tail: str = "", *, status: int = 12) -> str:
    """One completion error as NCCL 2.22 and later print it."""
    return (
        f"{host}:11:22 [3] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer {peer}<51234> with "
        f"status={status} opcode=0 len=0 vendor err 129 (Recv){tail}"
    )


def address(host: str, ip: str) -> str:
    """The line that tells a host's set-up address."""
    return f"{host}:11:11 [3] NCCL INFO Bootstrap : Using eth0:{ip}<0>"


def verdict_of(lines: Sequence[str], **job: Any) -> Verdict:
    """The verdict over some lines of one application log."""
    facts = JobInfoBuilder.from_mapping({"job_id": "1", "nodes": NODES, "state": "FAILED", **job}).build()
    with Attributor(facts, bundled_engine()) as attributor:
        attributor.ingest(Observation(Source.APPLOG, stream="applog.log", text=("\n".join(lines) + "\n").encode()))
        return attributor.attribute()


def pairs_of(lines: Sequence[str], **job: Any) -> list[dict[str, Any]]:
    """The pairs the collector finds in some lines."""
    found = verdict_of(lines, **job).collections["bad_pairs"]
    assert isinstance(found, list)
    return found


def test_a_report_names_source_peer_port_nic_and_status() -> None:
    """Every field of the line is in the row; times are null where the line has none."""
    (pair,) = pairs_of([address("node-0002", "10.0.0.2"), warn("node-0001", "10.0.0.2", " hca mlx5_4")])
    assert pair == {
        "src_node": "node-0001",
        "src_ip": None,
        "src_port": None,
        "dst_node": "node-0002",
        "dst_ip": "10.0.0.2",
        "dst_port": 51234,
        "hca": "mlx5_4",
        "status": 12,
        "vendor_err": 129,
        "count": 1,
        "first": None,
        "last": None,
    }


def test_times_are_utc_with_six_digits() -> None:
    """NCCL's own stamp is read in the job's zone."""
    (pair,) = pairs_of(["[2026-06-17 05:46:31] " + warn("node-0001", "10.0.0.2")])
    assert pair["first"] == "2026-06-17T05:46:31.000000Z"
    assert pair["last"] == pair["first"]


def test_the_printed_host_is_the_source_even_outside_the_job() -> None:
    """A host that is no node of the job is kept as printed."""
    (pair,) = pairs_of([warn("storage-17", "10.0.0.2")])
    assert pair["src_node"] == "storage-17"


def test_a_mapped_local_gid_is_the_source_where_no_host_is_printed() -> None:
    """The last-error text of the framework prints no host."""
    tail = " localGid ::ffff:10.1.0.3 remoteGids::ffff:10.1.0.7"
    taught = "node-0003:11:22 [3] NCCL INFO connecting, local GID ::ffff:10.1.0.3"
    (pair,) = pairs_of([taught, warn("x", "10.0.0.7", tail).split("NCCL WARN ")[1]])
    assert (pair["src_node"], pair["src_ip"]) == ("node-0003", "10.1.0.3")


def test_an_explicit_rank_within_the_job_is_the_source_even_beside_an_unmapped_gid() -> None:
    """The rank's node is known from the job's own facts."""
    line = "[rank5]: " + warn("x", "10.0.0.7", " localGid ::ffff:10.1.0.3").split("NCCL WARN ")[1]
    (pair,) = pairs_of([line], ranks=[{"rank": 5, "node": "node-0004"}])
    assert pair["src_node"] == "node-0004"


def test_a_declared_node_of_the_producer_is_the_source() -> None:
    """An entry that carries its node needs no host in the line."""
    job = JobInfoBuilder.from_mapping({"job_id": "1", "nodes": NODES, "state": "FAILED"}).build()
    entries = LogEntries(lines=[warn("x", "10.0.0.7").split("NCCL WARN ")[1]], nodes=["node-0006"])
    with Attributor(job, bundled_engine()) as attributor:
        attributor.ingest(Observation(Source.APPLOG, ObservationFormat.JSON, stream="pod", entries=entries))
        (pair,) = attributor.attribute().collections["bad_pairs"]
    assert pair["src_node"] == "node-0006"


def test_without_any_host_the_source_stays_null_and_keeps_its_address() -> None:
    """A single-node job does not lend its node to a line that names none."""
    line = warn("x", "10.0.0.7", " localGid ::ffff:10.1.0.3").split("NCCL WARN ")[1]
    (pair,) = pairs_of([line], nodes=["node-0001"])
    assert (pair["src_node"], pair["src_ip"]) == (None, "10.1.0.3")


def test_a_gid_of_another_host_is_shown_beside_the_printed_one() -> None:
    """The printed host stays; names that agree are not repeated."""
    line = warn("node-0001", "10.0.0.7", " localGid ::ffff:10.1.0.3")
    taught = "{}:11:22 [3] NCCL INFO connecting, local GID ::ffff:10.1.0.3"
    (other,) = pairs_of([taught.format("node-0009"), line])
    assert (other["src_node"], other["src_gid_node"]) == ("node-0001", "node-0009")
    (same,) = pairs_of([taught.format("node-0001"), line])
    assert "src_gid_node" not in same


def test_the_other_host_of_a_reversed_report_is_shown_at_the_destination() -> None:
    """Merged from the second side's own line."""
    lines = [
        "node-0009:11:22 [3] NCCL INFO connecting, local GID ::ffff:10.1.0.2",
        "[2026-06-17 05:46:31] " + warn("node-0001", "10.0.0.2", " localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2"),
        "[2026-06-17 05:46:32] " + warn("node-0002", "10.0.0.1", " localGid ::ffff:10.1.0.2 remoteGids::ffff:10.1.0.1"),
    ]
    (pair,) = pairs_of([address("node-0002", "10.0.0.2"), *lines])
    assert (pair["src_node"], pair["dst_node"], pair["dst_gid_node"]) == ("node-0001", "node-0002", "node-0009")


def test_a_gid_is_learnt_from_the_words_of_a_queue_pair_too() -> None:
    """NCCL prints the two halves of a GID as a little-endian host reads them."""
    taught = (
        "node-0003:11:22 [3] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1234 mtu 5 query_ece={supported=1} "
        "GID 3 (0/300010AFFFF0000) fifoRkey=0x1 fifoLkey=0x1"
    )
    line = warn("x", "10.0.0.7", " localGid ::ffff:10.1.0.3").split("NCCL WARN ")[1]
    (pair,) = pairs_of([taught, line])
    assert pair["src_node"] == "node-0003"


def test_reports_of_both_directions_are_one_pair() -> None:
    """Each side says who the other is; counts add up and the other side's address fills in."""
    lines = [
        address("node-0001", "10.0.0.1"),
        address("node-0002", "10.0.0.2"),
        warn("node-0001", "10.0.0.2"),
        warn("node-0002", "10.0.0.1"),
        warn("node-0001", "10.0.0.2", status=5),
    ]
    (pair,) = pairs_of(lines)
    assert (pair["src_node"], pair["dst_node"], pair["count"], pair["status"]) == ("node-0001", "node-0002", 3, 12)
    assert pair["src_ip"] == "10.0.0.1"


def test_directions_meet_by_their_gids_where_no_address_is_known() -> None:
    """The set-up address and the RDMA address of a host differ; each is compared with its like."""
    lines = [
        warn("node-0001", "10.0.0.2", " localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2"),
        warn("node-0002", "10.0.0.1", " localGid ::ffff:10.1.0.2 remoteGids::ffff:10.1.0.1"),
    ]
    (pair,) = pairs_of(lines)
    assert (pair["src_node"], pair["dst_node"], pair["count"]) == ("node-0001", "node-0002", 2)


@pytest.mark.parametrize(
    "second",
    [
        warn("node-0001", "10.0.0.2", " localGid ::ffff:10.1.0.9 remoteGids::ffff:10.1.0.2 hca mlx5_4"),
        warn("node-0001", "10.0.0.2", " localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2 hca mlx5_5"),
        warn("node-0001", "10.0.0.3", " localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2 hca mlx5_4"),
    ],
    ids=["gid", "nic", "address"],
)
def test_conflicting_facts_stay_separate_pairs(second: str) -> None:
    """Another GID, NIC or address is another pair."""
    first = warn("node-0001", "10.0.0.2", " localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2 hca mlx5_4")
    assert len(pairs_of([first, second])) == 2


def test_pairs_do_not_depend_on_the_order_of_the_lines() -> None:
    """Untimed lines of one stream keep their line order only in what is shown first."""
    lines = [
        "[2026-06-17 05:46:31] " + warn("node-0001", "10.0.0.2"),
        "[2026-06-17 05:46:30] " + warn("node-0002", "10.0.0.1"),
        "[2026-06-17 05:46:29] " + warn("node-0003", "10.0.0.2", " hca mlx5_1"),
    ]
    assert pairs_of(lines) == pairs_of(list(reversed(lines)))


def mapped(*numbers: int) -> list[str]:
    """Address lines of nodes by number."""
    return [address(f"node-{number:04d}", f"10.0.0.{number}") for number in numbers]


def test_one_pair_makes_both_ends_suspects() -> None:
    """Neither end alone."""
    verdict = verdict_of([*mapped(2), warn("node-0001", "10.0.0.2")])
    assert [row.node for row in verdict.bad_nodes] == ["node-0001", "node-0002"]


def test_one_pair_with_an_unknown_end_makes_nobody_a_suspect() -> None:
    """The reporting host is not blamed for reporting."""
    assert verdict_of([warn("node-0001", "10.0.0.2")]).bad_nodes == []


def test_an_end_common_to_most_pairs_is_the_suspect_and_the_count_is_told() -> None:
    """Four reporters lost one peer, one lost another."""
    lines = [*mapped(2, 8), *(warn(f"node-000{n}", "10.0.0.2") for n in (1, 3, 4, 5)), warn("node-0007", "10.0.0.8")]
    verdict = verdict_of(lines)
    assert [row.node for row in verdict.bad_nodes] == ["node-0002"]
    assert "4 of 5" in verdict.bad_nodes[0].why
    assert verdict.outcome == "communication_failure"


def test_several_nics_of_one_pair_are_one_vote() -> None:
    """Eight rails between two hosts say no more than one."""
    lines = [*mapped(2), *(warn("node-0001", "10.0.0.2", f" hca mlx5_{n}") for n in range(8))]
    assert [row.node for row in verdict_of(lines).bad_nodes] == ["node-0001", "node-0002"]


def test_many_unrelated_pairs_point_at_the_fabric_and_blame_no_node() -> None:
    """Four pairs without a common end."""
    lines = [*mapped(2, 4, 6, 8), *(warn(f"node-000{n}", f"10.0.0.{n + 1}") for n in (1, 3, 5, 7))]
    verdict = verdict_of(lines)
    assert verdict.bad_nodes == []
    assert any("fabric" in note for note in verdict.notes)


def test_pairs_never_blame_when_a_cause_is_known() -> None:
    """An application error on another rank explains the transport errors."""
    verdict = verdict_of(["[rank3]: KeyError: 'labels'", *mapped(2), warn("node-0001", "10.0.0.2")])
    assert verdict.bad_nodes == []
    assert len(verdict.collections["bad_pairs"]) == 1
