"""ENGINE: observation → events → phases → verdict. Pure: no AWS, no network, no environment, no clock reads.

``setup_rules`` loads the rules once per process and keeps the engine here; an ``Attributor`` that is given an engine
of its own touches none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import AttributionError, JobError, ObservationError, RuleLoadError
from attribution_lib.names import NodeNames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from attribution_lib.attributor import Attributor
    from attribution_lib.events.stream import EventStream
    from attribution_lib.events.table import EventManager
    from attribution_lib.job.builder import JobInfoBuilder
    from attribution_lib.job.model import ExecutionCancellation, JobInfo, SchedulerFailure
    from attribution_lib.observation import LogEntries, MetricSeries, Observation, ObservationFormat, Source
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.loader import RuleLoader, load_engine
    from attribution_lib.rules.registry import GeneratedSymptomRegistry
    from attribution_lib.verdict import Verdict

__all__ = [
    "AttributionError",
    "Attributor",
    "EventManager",
    "EventStream",
    "ExecutionCancellation",
    "GeneratedSymptomRegistry",
    "JobError",
    "JobInfo",
    "JobInfoBuilder",
    "LogEntries",
    "MetricSeries",
    "NodeNames",
    "Observation",
    "ObservationError",
    "ObservationFormat",
    "RuleEngine",
    "RuleLoadError",
    "RuleLoader",
    "SchedulerFailure",
    "Source",
    "Verdict",
    "initialized",
    "load_engine",
    "setup_rules",
]

_ON_USE = {
    "Attributor": "attribution_lib.attributor",
    "EventManager": "attribution_lib.events.table",
    "EventStream": "attribution_lib.events.stream",
    "ExecutionCancellation": "attribution_lib.job.model",
    "GeneratedSymptomRegistry": "attribution_lib.rules.registry",
    "JobInfo": "attribution_lib.job.model",
    "JobInfoBuilder": "attribution_lib.job.builder",
    "LogEntries": "attribution_lib.observation",
    "MetricSeries": "attribution_lib.observation",
    "Observation": "attribution_lib.observation",
    "ObservationFormat": "attribution_lib.observation",
    "RuleEngine": "attribution_lib.rules.engine",
    "RuleLoader": "attribution_lib.rules.loader",
    "SchedulerFailure": "attribution_lib.job.model",
    "Source": "attribution_lib.observation",
    "Verdict": "attribution_lib.verdict",
    "load_engine": "attribution_lib.rules.loader",
}
"""Where a public name comes from. It is imported when first used: a process pays for what it needs."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_ON_USE[name]), name)


initialized: bool = False
_rules_engine: RuleEngine | None = None
_symptom_registry: GeneratedSymptomRegistry | None = None
_node_names: NodeNames = NodeNames()


def setup_rules(  # noqa: PLR0913 -- the public contract's arguments, all but the first keyword-only
    paths: Sequence[Path | str] | None = None,
    *,
    force: bool = False,
    cache_dir: Path | None = None,
    include_staged: bool = True,
    node_domain_resolver: Callable[[str], str | None] | None = None,
    node_name_mapping: Mapping[str, str] | None = None,
    ignored_hostname_prefixes: Sequence[str] = (),
) -> RuleEngine:
    """Load the rules (the bundled ones by default) for this process and return the engine.

    Returns at once when that has happened before, unless ``force``. Raises ``RuleLoadError`` with every fault; what
    was set up before then stays as it was. ``cache_dir`` is where checked rules and compiled matchers may be kept.
    """
    global initialized, _rules_engine, _symptom_registry, _node_names  # noqa: PLW0603 -- the one place where this state is set
    if initialized and not force and _rules_engine is not None:
        return _rules_engine
    from attribution_lib.rules.loader import RuleLoader  # noqa: PLC0415 -- keeps importing the package cheap

    loader = RuleLoader(paths, include_staged=include_staged, cache_dir=cache_dir)
    loader.load_all()
    engine = loader.build()
    initialized = True
    _node_names = NodeNames(dict(node_name_mapping or {}), tuple(ignored_hostname_prefixes), node_domain_resolver)
    _rules_engine = engine
    _symptom_registry = engine.registry
    return engine
