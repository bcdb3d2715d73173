"""Collectors of network evidence: pairs of hosts that lost each other, and how far each rank came."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from common.evidence import ranks_in
from common.network_pairs import End, Pair, build_pairs, ipv4_of_gid

from attribution_lib.rule_api import EventType, collector_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import CollectorContext, Event, Position

AUTHOR = "attribution maintainers"
_MAX_PAIRS = 1_000
_MAX_RANKS = 512


@collector_def("bad_pairs", AUTHOR)
def bad_pairs(context: CollectorContext) -> list[dict[str, Any]]:
    """The pairs of "Got completion from peer" errors, first error first; network evidence that blames neither end."""
    return [_row(pair) for pair in build_pairs(context.event_stream, context.job)[:_MAX_PAIRS]]


def _row(pair: Pair) -> dict[str, Any]:
    row: dict[str, Any] = {
        "src_node": pair.src.node,
        "src_ip": _address(pair.src),
        "src_port": _number(pair.src.port),
        "dst_node": pair.dst.node,
        "dst_ip": _address(pair.dst),
        "dst_port": _number(pair.dst.port),
        "hca": pair.src.hca or pair.dst.hca,
        "status": _number(pair.status),
        "vendor_err": _number(pair.vendor_err),
        "count": pair.count,
        "first": _time(pair.first),
        "last": _time(pair.last),
    }
    if pair.src.gid_node is not None:
        row["src_gid_node"] = pair.src.gid_node
    if pair.dst.gid_node is not None:
        row["dst_gid_node"] = pair.dst.gid_node
    return row


def _address(end: End) -> str | None:
    return end.ip or ipv4_of_gid(end.gid)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _time(position: Position) -> str | None:
    """RFC 3339 UTC with six digits, as everywhere in a verdict."""
    if position.timestamp is None:
        return None
    seconds, micros = divmod(position.timestamp, 1_000_000)
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micros:06d}Z"


@collector_def("collectives", AUTHOR)
def collectives(context: CollectorContext) -> dict[str, Any]:
    """The last sequence per rank and the ranks that reports name as missing, empty when nothing says so."""
    positions = sorted(
        (event for event in context.event_stream.events(symptom="NCCL watchdog position") if event.rank is not None),
        key=lambda event: (event.rank or 0, event.first.order()),
    )
    ranks: dict[str, dict[str, Any]] = {}
    for event in positions:
        if len(ranks) < _MAX_RANKS:
            ranks.setdefault(str(event.rank), _position(event))
    missing = sorted(
        {
            rank
            for events in context.event_stream.lists(type=EventType.BAD_NODE, active=False)
            for event in events
            if event.may_say("missing_ranks") and event.payload.get("kind") == "missing_ranks"
            for rank in ranks_in(event.payload.get("ranks"))
        }
    )
    found: dict[str, Any] = {}
    if ranks:
        found["last_sequence"] = ranks
        found["laggards"] = _laggards(ranks)
    if missing:
        found["missing_ranks"] = missing[:_MAX_RANKS]
    return found


def _position(event: Event) -> dict[str, Any]:
    fields = ("seq", "enqueued", "completed")
    return {"node": event.node, **{name: _number(str(event.payload.get(name) or "")) for name in fields}}


def _laggards(ranks: dict[str, dict[str, Any]]) -> list[int]:
    """Ranks whose last completed operation is lower than another's; empty when all stand at the same one."""
    done = {int(rank): row["completed"] for rank, row in ranks.items() if row["completed"] is not None}
    if len(set(done.values())) < 2:  # noqa: PLR2004 -- one common value: nobody lags
        return []
    return sorted(rank for rank, completed in done.items() if completed == min(done.values()))
