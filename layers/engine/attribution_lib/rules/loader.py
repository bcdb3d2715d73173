"""Loading rules: files → declarations → checks → one immutable ``RuleEngine``, or one error that lists every fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from attribution_lib.rules.accumulators import bind_accumulator
from attribution_lib.rules.builtin_types import builtin_rule_types
from attribution_lib.rules.declared import Declared
from attribution_lib.rules.emission import compile_emitter
from attribution_lib.rules.engine import RuleEngine
from attribution_lib.rules.faults import FaultLog
from attribution_lib.rules.files import refuse_unreadable
from attribution_lib.rules.folders import all_files, digest_of, resolve_folders, rule_files
from attribution_lib.rules.kept import KeptRules
from attribution_lib.rules.model import RuleStatus
from attribution_lib.rules.needed import read_needed
from attribution_lib.rules.plan import SourcePlans
from attribution_lib.rules.python_rules import PythonFiles
from attribution_lib.rules.registry import GeneratedSymptomRegistry
from attribution_lib.rules.rule_types import RuleTypes
from attribution_lib.rules.signatures import check_arguments
from attribution_lib.rules.symptoms import read_symptom

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_lib.rules.declared import RawRule, RuleFolder
    from attribution_lib.rules.engine import AnyRule
    from attribution_lib.rules.kept import KeptLoad
    from attribution_lib.rules.model import (
        AccumulatorRule,
        CollectorRule,
        FilterRule,
        MetricRule,
        RefinerRule,
        TextRule,
    )

__all__ = ["RuleLoader", "load_engine"]

_SYMPTOM, _DECODER, _NEEDED = "symptom", "decoder", "needed_evidence"
_R = TypeVar("_R", "TextRule", "MetricRule", "AccumulatorRule", "FilterRule", "RefinerRule", "CollectorRule")


class RuleLoader:
    """Loads the rules of some folders (the bundled ones when ``paths`` is None).

    ``load_all`` reads and checks, ``build`` freezes; either raises ``RuleLoadError`` with every fault of every file,
    and then nothing of the load can be used.
    """

    def __init__(
        self,
        paths: Sequence[Path | str] | None = None,
        *,
        include_staged: bool = True,
        cache_dir: Path | None = None,
    ) -> None:
        self._folders = resolve_folders(paths)
        self._cache_dir = cache_dir
        self._include_staged = include_staged
        self._types = RuleTypes()
        self._declared: Declared | None = None
        self._digest = ""

    def load_all(self) -> None:
        """Read every top-level file in order and check all of them together.

        Where ``cache_dir`` holds a load of the same files by the same code, its declarative part is not read again.
        """
        self._types = RuleTypes()
        self._types.register(builtin_rule_types())
        kept = self._kept_rules()
        load = None if kept is None else kept.read()
        declared = None if load is None else self._complete(load)
        if declared is None:
            declared = self._read_all()
            self._digest = digest_of(self._folders, include_staged=self._include_staged)
            if kept is not None and kept.digest == self._digest:  # nobody has changed a file meanwhile
                kept.write(declared)
        elif kept is not None:
            self._digest = kept.digest
        self._declared = declared

    def _kept_rules(self) -> KeptRules | None:
        """Where these rules are kept; None without a folder for them, and where reading the files finds faults."""
        if self._cache_dir is None or not all(folder.path.is_dir() for folder in self._folders):
            return None
        try:
            digest = digest_of(self._folders, include_staged=self._include_staged)
            return KeptRules.of(self._cache_dir, self._folders, digest)
        except OSError:
            return None

    def _complete(self, load: KeptLoad) -> Declared | None:
        """A kept load with the rules of the Python files; None where the two do not go together."""
        declared = Declared(FaultLog())
        self._read(declared, (".py",))
        return declared if load.add_to(declared) and not len(declared.faults) else None

    def _read_all(self) -> Declared:
        from attribution_lib.rules.validate import validate  # noqa: PLC0415 -- a start with a kept load checks nothing

        declared = Declared(FaultLog())
        self._read(declared, (".py", ".toml"))
        validate(declared)
        declared.faults.raise_if_any()
        return declared

    def _read(self, declared: Declared, suffixes: tuple[str, ...]) -> None:
        raws = [raw for folder in self._folders for raw in self._read_folder(folder, declared.faults, suffixes)]
        for raw in raws:
            if raw.reader.kind == _SYMPTOM:
                declared.symptoms.append(read_symptom(raw.reader))
            elif raw.reader.kind == _DECODER:
                _add_decoder(raw, declared)
            elif raw.reader.kind == _NEEDED:
                declared.needed.append(read_needed(raw.reader))
        for raw in raws:
            rule_type = self._types.get(raw.reader.kind)
            if rule_type is not None:
                rule_type.build(raw, declared)

    def build(self) -> RuleEngine:
        """The engine of what was loaded (loading first if that has not happened)."""
        if self._declared is None:
            self.load_all()
        if self._declared is None:  # pragma: no cover -- load_all sets it or raises
            msg = "load_all() left nothing to build"
            raise RuntimeError(msg)
        return self._freeze(self._declared, GeneratedSymptomRegistry(self._declared.symptoms))

    def _freeze(self, declared: Declared, registry: GeneratedSymptomRegistry) -> RuleEngine:
        runs = self._runs
        text_rules = _sorted([_text_rule(rule, registry) for rule in declared.text_rules if runs(rule)])
        accumulators = _sorted([bind_accumulator(rule, registry) for rule in declared.accumulators if runs(rule)])
        return RuleEngine(
            text_rules=text_rules,
            metric_rules=_sorted([_metric_rule(rule, registry) for rule in declared.metric_rules if runs(rule)]),
            accumulators=accumulators,
            filters=_sorted([rule for rule in declared.filters if runs(rule)]),
            refiners=_sorted([_refiner(rule, declared, registry) for rule in declared.refiners if runs(rule)]),
            collectors=_sorted([rule for rule in declared.collectors if runs(rule)]),
            registry=registry,
            needed=tuple(declared.needed),
            digest=self._digest,
            plans=SourcePlans(text_rules, accumulators, self._digest, self._cache_dir),
            deprecated=tuple(found for found in declared.provenances() if found.status is RuleStatus.DEPRECATED),
        )

    def _runs(self, rule: AnyRule) -> bool:
        match rule.provenance.status:
            case RuleStatus.DEPRECATED:
                return False
            case RuleStatus.STAGED:
                return self._include_staged
            case RuleStatus.STABLE:
                return True

    def _read_folder(self, folder: RuleFolder, faults: FaultLog, suffixes: tuple[str, ...]) -> list[RawRule]:
        if not folder.path.is_dir():
            faults.add(folder.label, "", f"{folder.path} is no folder", "a folder of rule files")
            return []
        refused = refuse_unreadable(folder, all_files(folder), faults)
        python = PythonFiles(folder, faults)
        kinds = (_SYMPTOM, _NEEDED, *self._types.kinds)
        raws: list[RawRule] = []
        for path in rule_files(folder):
            if path in refused or path.suffix not in suffixes:
                continue
            if path.suffix == ".py":
                raws += python.read(path)
            else:
                from attribution_lib.rules.toml_rules import read_toml  # noqa: PLC0415 -- nor reads any TOML

                raws += read_toml(path, folder, kinds, faults)
        return raws


def load_engine(
    paths: Sequence[Path | str] | None = None, *, include_staged: bool = True, cache_dir: Path | None = None
) -> RuleEngine:
    """An engine that belongs to the caller: like ``setup_rules``, but nothing global is touched."""
    return RuleLoader(paths, include_staged=include_staged, cache_dir=cache_dir).build()


def _add_decoder(raw: RawRule, declared: Declared) -> None:
    name = raw.reader.text("name")
    if name in declared.decoders:
        raw.reader.fault("", "a decoder of this name is already declared", "a name of its own")
    if raw.target is not None:
        check_arguments(raw.reader, raw.target, "captures")
        declared.decoders[name] = raw.target  # type: ignore[assignment] # the check above is all that can be known
    raw.reader.finish()


def _sorted(rules: list[_R]) -> tuple[_R, ...]:
    return tuple(sorted(rules, key=lambda rule: (getattr(rule, "priority", 0), rule.provenance.name)))


def _text_rule(rule: TextRule, registry: GeneratedSymptomRegistry) -> TextRule:
    return replace(rule, emitter=compile_emitter(rule.emit, registry, rule.catalog, rule.decode))


def _metric_rule(rule: MetricRule, registry: GeneratedSymptomRegistry) -> MetricRule:
    return replace(rule, emitter=compile_emitter(rule.emit, registry, rule.catalog))


def _refiner(rule: RefinerRule, declared: Declared, registry: GeneratedSymptomRegistry) -> RefinerRule:
    return replace(rule, symptoms=registry.resolve(declared.refiner_symptoms.get(rule.provenance.name, ())))
