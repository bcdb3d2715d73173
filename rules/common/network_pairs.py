"""Pairs of hosts from NCCL's "Got completion from peer": who reported whom, merged over both directions.

The address that NCCL prints for a peer is that of its set-up interface; a RoCE line also carries the GIDs of the two
RDMA ports. Both are kept apart, because one host may well have different addresses on the two networks.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from attribution_lib.rule_api import EventType, Position

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, EventStream, JobInfo

_MAX_REPORTS = 5_000
"""The first real errors of a job this large say all that its pairs can say."""
FLUSH = "5"
"""IBV_WC_WR_FLUSH_ERR: the echo of an earlier error on the same connection."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a pair; None where nothing is known."""

    node: str | None = None
    ip: str | None = None
    gid: str | None = None
    hca: str | None = None
    gid_node: str | None = None
    """The host that the GID belongs to, where that is not ``node``."""
    declared_node: bool = False
    """The node is the producer's word about the line, not a host that the line prints."""
    port: str | None = None

    def merged(self, other: End) -> End | None:
        """Both together, or None where they conflict or nothing says that they are the same end."""
        facts = ("node", "ip", "gid", "hca", "gid_node")
        mine, theirs = [[getattr(end, name) for name in facts] for end in (self, other)]
        if any(a is not None and b is not None and a != b for a, b in zip(mine, theirs, strict=True)):
            return None
        if not any(a is not None and a == b for a, b in zip(mine[:3], theirs[:3], strict=True)):
            return None
        values = {name: a if a is not None else b for name, a, b in zip(facts, mine, theirs, strict=True)}
        return End(
            **values,
            declared_node=self.declared_node and other.declared_node,
            port=self.port or other.port,
        )

    def identities(self) -> list[tuple[str, str]]:
        """What identifies the end, by kind."""
        named = (("node", self.node), ("ip", self.ip), ("gid", self.gid))
        return [(kind, value) for kind, value in named if value is not None]

    @property
    def name(self) -> str | None:
        """How the end is called in a count: its node, else its address."""
        return self.node or self.ip or self.gid


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair with what was reported about it."""

    src: End
    dst: End
    status: str
    vendor_err: str
    first: Position
    last: Position
    count: int

    def order(self) -> tuple[object, ...]:
        """Sort key: the first real error of all reports leads, flushes come last."""
        names = (self.src.name or "", self.dst.name or "", self.src.hca or "", self.src.gid or "", self.dst.gid or "")
        return (self.status == FLUSH, *self.first.order(), *names, self.status, self.dst.port or "")

    def reversed(self) -> Pair:
        """The same pair seen from its other end."""
        return replace(self, src=self.dst, dst=self.src)

    def merged(self, other: Pair) -> Pair | None:
        """Both reports as one pair, or None when they are not about the same one; the earlier real error leads."""
        src, dst = self.src.merged(other.src), self.dst.merged(other.dst)
        if src is None or dst is None:
            return None
        return replace(
            self,
            src=src,
            dst=dst,
            first=min(self.first, other.first, key=Position.order),
            last=max(self.last, other.last, key=_late),
            count=self.count + other.count,
        )


def _late(position: Position) -> tuple[float, str, int]:
    return (position.timestamp or 0, position.stream, position.line_num or 0)


@dataclass(slots=True)
class Addresses:
    """What the evidence teaches about addresses: GID → host and set-up address → host, where one host only."""

    by_gid: dict[str, set[str]] = field(default_factory=dict)
    by_ip: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def learn(cls, stream: EventStream, job: JobInfo) -> Addresses:
        """Read the mapping events of the job."""
        found = cls()
        for event in stream.events(type=EventType.MAPPING):
            host = canonical(str(event.payload.get("host") or ""), job)
            words = event.payload.get("gid_prefix"), event.payload.get("gid_interface")
            gid = gid_of_words(str(words[0]), str(words[1])) if all(words) else event.payload.get("gid")
            for address, table in ((gid, found.by_gid), (event.payload.get("ip"), found.by_ip)):
                if host and address:
                    table.setdefault(str(address).lower(), set()).add(host)
        return found

    def host_of_gid(self, gid: str | None) -> str | None:
        """The one host a GID was printed for."""
        return _only(self.by_gid.get((gid or "").lower()))

    def host_of_ip(self, ip: str | None) -> str | None:
        """The one host that uses an address for set-up."""
        return _only(self.by_ip.get((ip or "").lower()))


def _only(hosts: set[str] | None) -> str | None:
    return next(iter(hosts)) if hosts is not None and len(hosts) == 1 else None


def canonical(name: str, job: JobInfo) -> str:
    """The job's spelling of a host name."""
    return job.names.canonical(name) if job.names is not None else name


def build_pairs(stream: EventStream, job: JobInfo) -> list[Pair]:
    """All pairs of the job, each once, in the order of their first error."""
    addresses = Addresses.learn(stream, job)
    events = [event for event in stream.events(type=EventType.BAD_PEERS) if event.payload.get("kind") == "ib_pair"]
    events.sort(key=lambda event: (event.payload.get("status") == FLUSH, *event.first.order(), event.key_fields))
    reports = [_report(event, addresses, job) for event in events[:_MAX_REPORTS]]
    found = _Pairs()
    for report in sorted(reports, key=Pair.order):
        found.add(report)
    return sorted(found.pairs, key=Pair.order)


@dataclass(slots=True)
class _Pairs:
    """Pairs under construction, indexed by what identifies their two ends, so that a report finds its own at once."""

    pairs: list[Pair] = field(default_factory=list)
    index: dict[frozenset[tuple[str, str]], list[int]] = field(default_factory=dict)

    def add(self, report: Pair) -> None:
        """Merge a report, as it is or turned round, into the first pair it fits; else it is a new pair."""
        for number in sorted({number for key in _keys(report) for number in self.index.get(key, ())}):
            pair = self.pairs[number]
            found = pair.merged(report) or pair.merged(report.reversed())
            if found is not None:
                self._put(number, found)
                return
        self.pairs.append(report)
        self._put(len(self.pairs) - 1, report)

    def _put(self, number: int, pair: Pair) -> None:
        self.pairs[number] = pair
        for key in _keys(pair):
            numbers = self.index.setdefault(key, [])
            if number not in numbers:
                numbers.append(number)


def _keys(pair: Pair) -> list[frozenset[tuple[str, str]]]:
    return [frozenset((one, other)) for one in pair.src.identities() for other in pair.dst.identities()]


def _report(event: Event, addresses: Addresses, job: JobInfo) -> Pair:
    text = {key: str(value) for key, value in event.payload.items() if value not in (None, "")}
    remote, peer = text.get("remote_gid"), text.get("peer_ip")
    peer_node = addresses.host_of_ip(peer) or addresses.host_of_gid(remote)
    if peer_node is None and peer is not None and not _is_address(peer):
        peer_node, peer = canonical(peer, job), None
    return Pair(
        src=_source(event, text, addresses, job),
        dst=End(node=peer_node, ip=peer, gid=remote, port=text.get("peer_port")),
        status=text.get("status", ""),
        vendor_err=text.get("vendor_err", ""),
        first=event.first,
        last=event.last,
        count=event.occurrences,
    )


def _source(event: Event, text: dict[str, str], addresses: Addresses, job: JobInfo) -> End:
    """The printed host, else the mapped GID's, else the producer's node or an explicit rank's, within the job."""
    gid = text.get("local_gid")
    of_gid = addresses.host_of_gid(gid)
    printed = canonical(text.get("host", ""), job)
    if printed:
        other = of_gid if of_gid not in (None, printed) else None
        return End(node=printed, gid=gid, hca=text.get("hca"), gid_node=other)
    if of_gid is not None:
        return End(node=of_gid, gid=gid, hca=text.get("hca"))
    declared = event.node if event.node_declared or event.rank is not None else None
    if declared is not None and job.nodes and declared not in job.nodes:
        declared = None
    return End(node=declared, gid=gid, hca=text.get("hca"), declared_node=declared is not None)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.split("%", 1)[0])
    except ValueError:
        return False
    return True


def gid_of_words(prefix: str, interface: str) -> str | None:
    """The GID behind two 64-bit words in hexadecimal, each printed as a little-endian host reads it."""
    try:
        raw = b"".join(int(word, 16).to_bytes(8, "little") for word in (prefix, interface))
    except (ValueError, OverflowError):
        return None
    address = ipaddress.IPv6Address(raw)
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped is not None else str(address)


def ipv4_of_gid(gid: str | None) -> str | None:
    """The IPv4 address that a RoCE v2 GID embeds, if it does."""
    try:
        mapped = ipaddress.IPv6Address(gid or "").ipv4_mapped
    except ValueError:
        return None
    return None if mapped is None else str(mapped)


def endpoints(pairs: Iterable[Pair]) -> list[frozenset[str]]:
    """The distinct pairs of ends by name, several ports and NICs of one pair counted once, in order."""
    found: dict[frozenset[str], None] = {}
    for pair in pairs:
        names = frozenset(name for name in (pair.src.name, pair.dst.name) if name is not None)
        if names:
            found.setdefault(names)
    return list(found)
