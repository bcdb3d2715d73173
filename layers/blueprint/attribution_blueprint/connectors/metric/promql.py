"""``promql``: series of Prometheus, Mimir, Thanos or VictoriaMetrics, by ``query_range``."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import urlencode

from pydantic import Field

from attribution_blueprint.connectors.collector import MetricSettings
from attribution_blueprint.connectors.metric.promql_queries import Stretch, halves, read_reply, selectors, stretches
from attribution_blueprint.connectors.metric.rules_metrics import rules_metrics
from attribution_blueprint.connectors.web import WebClient, WebSettings, addressed
from attribution_blueprint.errors import CollectError, WebError
from attribution_blueprint.local import load_engine
from attribution_blueprint.setting_types import OptionalPath, Seconds, Secret, Texts
from attribution_lib.observation import Observation, ObservationFormat, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.web import WebReply
    from attribution_blueprint.context import ExecutionContext

__all__ = ["PromqlMetrics", "PromqlSettings"]

_MICROS = 1_000_000
_TOO_MUCH = frozenset({0, 413, 422})
_FEWEST_POINTS = 8
_HOPELESS = frozenset({0, 401, 403, 404})


class PromqlSettings(MetricSettings, WebSettings):
    """Series of the job's nodes in its window, of those metrics that some rule reads."""

    metrics: Texts = Field(default=(), description="Metrics to ask for; empty: those that some rule names.")
    rules_url: str = Field(
        default="", description="Service whose GET /v2/rules says which these are; empty: the rules installed here."
    )
    rules_auth: Literal["none", "bearer", "sigv4"] = Field(
        default="none", description="How requests to rules_url prove who sends them."
    )
    rules_token: Secret = Field(default=Secret(""), description="Bearer token for rules_url.")
    rules_token_file: OptionalPath = Field(default="", description="File with the bearer token for rules_url.")
    rules_token_command: Texts = Field(default=(), description="Command that prints the bearer token for rules_url.")
    rules_region: str = Field(default="", description="AWS region of rules_url, for sigv4.")
    node_labels: Texts = Field(
        default=("Hostname", "node", "instance"), description="Labels that may hold the node's name."
    )
    matchers: str = Field(default="", description='Further matchers of every query, such as cluster="a",job="dcgm".')
    path: str = Field(default="/api/v1", description="Where the query API begins, as /prometheus/api/v1 for Mimir.")
    step: Seconds = Field(default=15.0, ge=1, description="Distance of samples; best the scrape interval.")
    points: int = Field(default=1000, ge=16, le=11_000, description="Samples of a series in one query.")
    nodes_at_once: int = Field(default=50, ge=1, le=1000, description="Nodes in one query.")
    lookback: Seconds = Field(default=86_400.0, description="How far back to ask where the start is not known.")


class PromqlMetrics:
    """Asks for short stretches and few nodes at a time, and for less where the server says that it is too much."""

    Settings: ClassVar[type[PromqlSettings]] = PromqlSettings

    def __init__(self, name: str, settings: PromqlSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._client = WebClient(settings)
        self._clock = clock
        self._known: tuple[str, ...] = settings.metrics
        self._lock = threading.Lock()

    @property
    def source(self) -> Source:
        """Metrics."""
        return Source.NODE_METRICS

    def plan(self, context: ExecutionContext) -> list[str]:
        """Where, for how long, and of how many nodes."""
        start, end = self._window(context)
        cut = len(stretches(start, end, int(self.settings.step), self.settings.points))
        return [f"{self.settings.url}{self.settings.path}: {len(context.info.nodes)} nodes, {cut} stretches of time"]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """One observation a query that brings something; what a query cannot bring costs only itself."""
        chosen = self.settings
        nodes = sorted(context.info.nodes)
        if not nodes:
            msg = "the job's nodes are not known, so its series cannot be told from others"
            raise CollectError(msg)
        metrics = self._metrics(budget)
        start, end = self._window(context)
        reasons: dict[str, None] = {}
        for stretch in stretches(start, end, int(chosen.step), chosen.points):
            for at in range(0, len(nodes), chosen.nodes_at_once):
                group = nodes[at : at + chosen.nodes_at_once]
                for query in selectors(metrics, group, chosen.node_labels, chosen.matchers):
                    yield from self._ask(query, stretch, budget, reasons)
        if reasons:
            raise CollectError("; ".join(list(reasons)[:5]))

    def _ask(self, query: str, stretch: Stretch, budget: Budget, reasons: dict[str, None]) -> Iterator[Observation]:
        """What one query brings; in halves when it is too much for the server or for us."""
        try:
            reply = self._range(query, stretch, budget)
        except WebError as error:
            too_much = error.status in _TOO_MUCH and (error.status or "longer than reply_bytes" in str(error))
            if too_much and stretch.points >= _FEWEST_POINTS:
                for half in halves(stretch):
                    yield from self._ask(query, half, budget, reasons)
                return
            if error.status in _HOPELESS:
                raise
            reasons[str(error)] = None
            return
        with addressed(reply.address):
            series, warnings = read_reply(reply.json())
        reasons.update(dict.fromkeys(f"partial answer: {warning}" for warning in warnings))
        if series:
            yield Observation(
                Source.NODE_METRICS,
                ObservationFormat.PROMETHEUS_MATRIX,
                stream=f"{self.settings.url}{self.settings.path}?{query}@{stretch.start}"[:500],
                start=stretch.start * _MICROS,
                end=stretch.end * _MICROS,
                series=series,
            )

    def _range(self, query: str, stretch: Stretch, budget: Budget) -> WebReply:
        asked = {"query": query, "start": stretch.start, "end": stretch.end, "step": stretch.step}
        # A POST, since the names of many nodes are longer than what proxies take in an address.
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        path = f"{self.settings.path.rstrip('/')}/query_range"
        return self._client.send("POST", path, budget, urlencode(asked).encode(), form)

    def _window(self, context: ExecutionContext) -> tuple[int, int]:
        window = context.window
        end = int(self._clock()) if window.end is None else min(window.end // _MICROS, int(self._clock()))
        start = end - int(self.settings.lookback) if window.start is None else window.start // _MICROS
        return start, end

    def _metrics(self, budget: Budget) -> Sequence[str]:
        """The names to ask for, found out once."""
        with self._lock:
            if not self._known:
                self._known = self._named_by_rules(budget)
            return self._known

    def _named_by_rules(self, budget: Budget) -> tuple[str, ...]:
        if not self.settings.rules_url:
            return tuple(sorted({rule.metric for rule in load_engine().metric_rules}))
        return rules_metrics(self.settings, budget)
