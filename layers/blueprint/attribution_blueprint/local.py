"""Attribution of evidence that is already in memory, in this process, with the engine of the installed rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_blueprint.cache import cache_folder
from attribution_blueprint.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from attribution_blueprint.case_files import Evidence
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

__all__ = ["LocalAttribution", "attribute_evidence", "load_engine", "require_rules"]


def load_engine(rules_dirs: Sequence[Path] = ()) -> RuleEngine:
    """The engine of rules folders, or of the bundled rules; what is made of them is kept in the user's cache.

    ``RuleLoadError`` when the rules are refused, ``EvidenceError`` when the folders hold none.
    """
    from attribution_lib.rules.loader import load_engine as load_rules  # noqa: PLC0415 -- help need not load the engine

    engine = load_rules(rules_dirs or None, cache_dir=cache_folder())
    require_rules(engine, *rules_dirs)
    return engine


def require_rules(engine: RuleEngine, *rules_dirs: Path | None) -> None:
    """``EvidenceError`` when the folders hold no rule: everything would be unknown, and nothing would say why."""
    if engine.rule_count == 0:
        where = ", ".join(str(folder) for folder in rules_dirs if folder is not None) or "the rules"
        msg = f"{where}: holds no rule; expected a folder of .toml and .py rule files"
        raise EvidenceError(msg)


def attribute_evidence(evidence: Evidence, engine: RuleEngine) -> EnrichedVerdict:
    """One enriched verdict over one job's evidence, with one connector report per file."""
    from attribution_lib.attributor import Attributor  # noqa: PLC0415 -- likewise
    from attribution_service.result import enrich_attribution_result  # noqa: PLC0415 -- likewise

    job = evidence.job
    with Attributor(job, engine) as attributor:
        attributor.ingest_batch(evidence.observations)
        verdict = attributor.attribute()
    return enrich_attribution_result(
        verdict,
        attributor_id=f"{job.cluster}:{job.job_id}:{job.attempt}",
        run_id="local",
        attributed_at=None,
        connector_reports=evidence.reports,
    )


@dataclass(frozen=True, slots=True)
class LocalAttribution:
    """The two steps of a verdict in this process; who embeds the command line may give it others as click's ``obj``."""

    load: Callable[[Sequence[Path]], RuleEngine] = load_engine
    attribute: Callable[[Evidence, RuleEngine], EnrichedVerdict] = attribute_evidence
