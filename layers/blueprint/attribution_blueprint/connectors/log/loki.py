"""``loki``: log lines of the job's nodes and window, page by page."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlencode

from pydantic import Field, model_validator

from attribution_blueprint.connectors.collector import LogSettings
from attribution_blueprint.connectors.log.loki_replies import LokiEntry, node_pattern, read_streams
from attribution_blueprint.connectors.web import WebClient, WebSettings, addressed
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import Seconds, Texts
from attribution_lib.observation import LogEntries, Observation, ObservationFormat, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["LokiLog", "LokiSettings"]

_NANOS_A_MICRO = 1_000
_NANOS = 1_000_000_000
_JOB_FIELDS = ("job_id", "attempt", "user", "name", "partition", "cluster")


class LokiSettings(LogSettings, WebSettings):
    """Log lines of Loki, asked for by the job's nodes and window."""

    query: str = Field(description='LogQL, as {job="syslog",host=~"{nodes}"}; also {job_id} {name} {user} {partition}.')
    node_labels: Texts = Field(default=("node", "node_name", "host", "hostname"), description="Labels of the node.")
    rank_labels: Texts = Field(default=("rank",), description="Labels that hold the global rank.")
    tenant: str = Field(default="", description="Tenant (X-Scope-OrgID).")
    limit: int = Field(default=5000, ge=2, le=100_000, description="Lines of one page; the server allows 5000.")
    nodes_at_once: int = Field(default=50, ge=1, le=1000, description="Nodes in one query.")
    lookback: Seconds = Field(default=86_400.0, description="How far back to ask where the start is not known.")

    @model_validator(mode="after")
    def _one_tenant(self) -> LokiSettings:
        if self.tenant and any(name.lower() == "x-scope-orgid" for name in self.headers):
            msg = "tenant, or X-Scope-OrgID among headers: not both"
            raise ValueError(msg)
        return self


class LokiLog:
    """Reads ``query_range`` forward; a page begins with the last instant of the one before, less what that held."""

    Settings: ClassVar[type[LokiSettings]] = LokiSettings

    def __init__(self, name: str, settings: LokiSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._client = WebClient(settings)
        self._clock = clock

    @property
    def source(self) -> Source:
        """As set."""
        return self.settings.source

    def plan(self, context: ExecutionContext) -> list[str]:
        """The queries."""
        return [f"{self.settings.url}: {query}" for query in self._queries(context)]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every line of the window, in batches of bounded size."""
        warnings: dict[str, None] = {}
        for query in self._queries(context):
            batch: list[LokiEntry] = []
            size, number = 0, 1
            for entry in self._entries(query, context, budget, warnings):
                batch.append(entry)
                size += len(entry.line) + 64
                if size >= self.settings.batch_bytes:
                    yield self._observation(query, batch, number)
                    number += len(batch)
                    batch, size = [], 0
            if batch:
                yield self._observation(query, batch, number)
        if warnings:
            raise CollectError("partial answer: " + "; ".join(list(warnings)[:5]))

    def _queries(self, context: ExecutionContext) -> list[str]:
        chosen, info = self.settings, context.info
        query = chosen.query
        for field in _JOB_FIELDS:
            if f"{{{field}}}" in query:
                value = str(getattr(info, field)).replace("\\", "\\\\").replace('"', '\\"')
                query = query.replace(f"{{{field}}}", value)
        if "{nodes}" not in query:
            return [query]
        nodes = sorted(info.nodes)
        if not nodes:
            msg = "the query asks for {nodes}, and the job's nodes are not known"
            raise CollectError(msg)
        groups = [nodes[at : at + chosen.nodes_at_once] for at in range(0, len(nodes), chosen.nodes_at_once)]
        return [query.replace("{nodes}", node_pattern(group)) for group in groups]

    def _entries(
        self, query: str, context: ExecutionContext, budget: Budget, warnings: dict[str, None]
    ) -> Iterator[LokiEntry]:
        """All entries of a query, each once, oldest first."""
        start, end = self._window(context)
        limit = self.settings.limit
        held: list[LokiEntry] = []
        while start < end:
            page, said = self._page(query, start, end, limit, budget)
            warnings.update(dict.fromkeys(said))
            yield from _without(page, held)
            if len(page) < limit:
                return
            last = page[-1].stamp
            if last == start:
                # One instant holds more than a page, and no page can begin within it.
                warnings[f"more than {limit} lines at {last} ns; raise limit (and the server's) to read them"] = None
                held, start = [], last + 1
                continue
            held, start = [entry for entry in page if entry.stamp == last], last

    def _page(self, query: str, start: int, end: int, limit: int, budget: Budget) -> tuple[list[LokiEntry], list[str]]:
        asked: dict[str, str | int] = {"query": query, "start": start, "end": end}
        asked |= {"limit": limit, "direction": "forward"}
        tenant = {"X-Scope-OrgID": self.settings.tenant} if self.settings.tenant else {}
        reply = self._client.send("GET", f"/loki/api/v1/query_range?{urlencode(asked)}", budget, headers=tenant)
        with addressed(reply.address):
            return read_streams(reply.json(), self.settings.node_labels, self.settings.rank_labels)

    def _window(self, context: ExecutionContext) -> tuple[int, int]:
        """Nanoseconds; Loki leaves out the end itself."""
        window = context.window
        end = int(self._clock()) * _NANOS if window.end is None else window.end * _NANOS_A_MICRO + 1
        start = end - int(self.settings.lookback) * _NANOS if window.start is None else window.start * _NANOS_A_MICRO
        return start, end

    def _observation(self, query: str, batch: list[LokiEntry], number: int) -> Observation:
        nodes, ranks = [entry.node for entry in batch], [entry.rank for entry in batch]
        entries = LogEntries(
            lines=[entry.line for entry in batch],
            stamps=[str(entry.stamp) for entry in batch],
            nodes=nodes if any(nodes) else (),
            ranks=ranks if any(rank is not None for rank in ranks) else (),
        )
        digest = hashlib.sha256(query.encode()).hexdigest()[:12]
        stream = f"{self.settings.url}#{digest}"
        return Observation(self.source, ObservationFormat.JSON, stream=stream, first_line=number, entries=entries)


def _without(page: list[LokiEntry], held: list[LokiEntry]) -> Iterator[LokiEntry]:
    """The page without what the last one held of its first instant; equal lines are counted, not merged."""
    rest = Counter(held)
    for entry in page:
        if rest[entry] > 0:
            rest[entry] -= 1
        else:
            yield entry
