"""ENGINE: observation → events → phases → verdict. Pure: no AWS, no network, no environment, no clock reads.

``setup_rules`` loads the rules once per process and keeps the engine here; an ``Attributor`` that is given an engine
of its own touches none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import AttributionError, JobError, ObservationError, RuleLoadError
from attribution_lib.names import NodeNames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = [
    "AttributionError",
    "JobError",
    "NodeNames",
    "ObservationError",
    "RuleLoadError",
    "initialized",
    "setup_rules",
]

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
    was set up before then stays as it was. ``cache_dir`` is where compiled matchers may be kept.
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
