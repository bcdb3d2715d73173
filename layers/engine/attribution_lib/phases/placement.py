"""Where an event happened: names made canonical, ranks and addresses looked up in what the evidence taught."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.names import NodeNames, is_address
from attribution_lib.rules.model import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["Placement"]

_NAMELESS = frozenset({"localhost", "localhost.localdomain", "kernel", "unknown", "(none)", "-", "127.0.0.1", "::1"})
"""Host fields that name no host."""


@dataclass(slots=True)
class Placement:
    """Learnt mappings of one job: rank → host per stream in line order, job-wide rank → hosts, the job's own ranks."""

    names: NodeNames
    nodes: tuple[str, ...]
    declared_ranks: dict[int, str]
    by_stream: dict[tuple[str, str, int], list[tuple[int, str]]] = field(default_factory=dict)
    by_rank: dict[int, set[str]] = field(default_factory=dict)
    by_gid: dict[str, set[str]] = field(default_factory=dict)
    by_ip: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def learn(cls, job: JobInfo, lists: Iterable[Iterable[Event]]) -> Placement:
        """Read all mapping events, and every event that carries both a rank and a declared node."""
        names = (job.names or NodeNames()).of_job(job.nodes)
        placement = cls(names, job.nodes, {item.rank: item.node for item in job.ranks})
        of_communicators: list[tuple[int, Event]] = []
        mapping = EventType.MAPPING
        telling = ([one for one in events if one.rank is not None or one.event_type == mapping] for events in lists)
        for event in chain.from_iterable(telling):
            if event.event_type == mapping and event.payload.get("kind") == "comm_rank_host":
                of_communicators.append((_number(event.payload.get("nranks")), event))
            elif event.event_type == mapping:
                placement._learn_mapping(event)
            elif event.rank is not None and event.node is not None and event.node_declared:
                placement._learn_rank(event, event.rank, event.node)
        placement._learn_communicators(of_communicators)
        for known in placement.by_stream.values():
            known.sort()
        return placement

    def _learn_mapping(self, event: Event) -> None:
        host = self.canonical(str(event.payload.get("host") or event.node or ""))
        if not host:
            return
        for kind, table in (("gid", self.by_gid), ("ip", self.by_ip)):
            if event.payload.get("kind") == f"{kind}_host" and event.payload.get(kind):
                table.setdefault(str(event.payload[kind]).lower(), set()).add(host)
                return
        rank = event.payload.get("rank", event.rank)
        if str(rank).isdigit():
            self._learn_rank(event, int(str(rank)), host)

    def _learn_communicators(self, found: Iterable[tuple[int, Event]]) -> None:
        """Ranks of a communicator are global only in the largest one, which spans the job."""
        found = list(found)
        size = max((nranks for nranks, _ in found), default=0)
        for nranks, event in found:
            host, rank = str(event.payload.get("host") or ""), event.payload.get("comm_rank")
            if nranks == size and str(rank).isdigit():
                self._learn_rank(event, int(str(rank)), host)

    def _learn_rank(self, event: Event, rank: int, host: str) -> None:
        host = self.canonical(host)
        if not host:
            return
        self.by_rank.setdefault(rank, set()).add(host)
        self.by_stream.setdefault((event.source, event.stream, rank), []).append((event.first.line_num or 0, host))

    def canonical(self, name: str | None) -> str:
        """The job's spelling of a node name; empty for names that name no host."""
        if not name or name.lower() in _NAMELESS:
            return ""
        return self.names.canonical(name)

    def host_of_gid(self, gid: str) -> str | None:
        """The one host a GID was printed for, or None."""
        hosts = self.by_gid.get(gid.lower(), set())
        return next(iter(hosts)) if len(hosts) == 1 else None

    def host_of_peer(self, peer: str) -> str:
        """The node behind a peer's host name or address, as far as the evidence taught it; else the peer as given."""
        hosts = self.by_ip.get(peer.lower(), set())
        return next(iter(hosts)) if len(hosts) == 1 else self.canonical(peer)

    def host_of_rank(self, event: Event) -> str | None:
        """Job facts first; else the one learnt host; of several the nearest earlier one in the event's own stream."""
        if event.rank is None:
            return None
        if event.rank in self.declared_ranks:
            return self.declared_ranks[event.rank]
        hosts = self.by_rank.get(event.rank, set())
        if len(hosts) == 1:
            return next(iter(hosts))
        known = self.by_stream.get((event.source, event.stream, event.rank), [])
        index = bisect_right(known, (event.first.line_num or 0, "\U0010ffff"))
        return known[index - 1][1] if index else None

    def place(self, lists: Iterable[Sequence[Event]], registry: GeneratedSymptomRegistry) -> set[str]:
        """Give events their node where anything tells it; returns the rules of those that changed theirs."""
        moved: set[str] = set()
        known: dict[str | None, str | None] = {None: None}
        for events in lists:
            named = set(map(_node_of, events))
            known.update((name, self._host_of_name(name)) for name in named.difference(known))
            elsewhere = {name for name in named if name is None or known[name] != name}
            for event in [event for event in events if event.node in elsewhere] if elsewhere else ():
                node = known[event.node]
                if node is None:
                    node = self._host_of_unnamed(event, registry)
                if node != event.node:
                    event.node = node
                    moved.add(event.rule)
            for event in [event for event in events if (text := event.text) is None or '"peer"' in text]:
                peer = event.payload.get("peer")
                if isinstance(peer, str) and peer:
                    event.payload = {**event.payload, "peer": self.host_of_peer(peer) or peer}
        return moved

    def _host_of_name(self, name: str | None) -> str | None:
        node = self.canonical(name) or None
        return self._host_of_address(node) if node is not None and is_address(node) else node

    def _host_of_unnamed(self, event: Event, registry: GeneratedSymptomRegistry) -> str | None:
        node = self.host_of_rank(event)
        return self.nodes[0] if node is None and len(self.nodes) == 1 and _is_local(event, registry) else node

    def _host_of_address(self, address: str) -> str:
        """The host behind a node that is named by its address: the learnt one, or the only one of the job."""
        hosts = self.by_ip.get(address.lower(), set())
        if address in self.nodes or len(hosts) > 1:
            return address
        if hosts:
            return next(iter(hosts))
        return self.nodes[0] if len(self.nodes) == 1 else address


_node_of = attrgetter("node")


def _number(value: object) -> int:
    text = str(value or "")
    return int(text) if text.isdigit() else 0


def _is_local(event: Event, registry: GeneratedSymptomRegistry) -> bool:
    """Whether an event is about one machine, so that a single-node job places it."""
    if event.symptom is None:
        return event.source != "scheduler"
    return registry.get(event.symptom).scope in (Scope.NODE, Scope.DEVICE)
