"""Reading extractors over text lines: individual ones, families and catalogue look-ups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.catalogs import catalog_symptoms, read_catalog
from attribution_lib.rules.emits import check_emit, read_emit
from attribution_lib.rules.families import expand_family
from attribution_lib.rules.model import EMIT_TYPES, TextRule
from attribution_lib.rules.patterns import PatternError, read_pattern
from attribution_lib.rules.provenance import read_provenance
from attribution_lib.rules.templates import placeholders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from attribution_lib.rules.catalogs import CatalogFile
    from attribution_lib.rules.declared import Declared, RawRule
    from attribution_lib.rules.model import CatalogTable, Emit
    from attribution_lib.rules.tables import TableReader

__all__ = ["read_catalog_rule", "read_extractor", "read_family", "read_sources"]

_FOLDS = ("", "last", "max")


@dataclass(frozen=True, slots=True)
class _Options:
    """The keys that all members of a declaration share."""

    sources: tuple[Source, ...]
    engine: str
    engine_reason: str
    key: tuple[str, ...]
    fold: str
    demotable_by: tuple[str, ...]


def read_sources(reader: TableReader) -> tuple[Source, ...]:
    """The text sources a rule looks at; all three unless it says otherwise."""
    allowed = [source.value for source in TEXT_SOURCES]
    names = reader.texts("sources", default=allowed)
    for index, name in enumerate(names):
        if name not in allowed:
            reader.fault("sources", f"{name!r} is no text source", f"one of {', '.join(allowed)}", index)
    return tuple(Source(name) for name in names if name in allowed)


def _read_options(reader: TableReader) -> _Options:
    options = _Options(
        sources=read_sources(reader),
        engine=reader.choice("engine", ("re2", "re"), default="re2"),
        engine_reason=reader.text("engine_reason", default=""),
        key=reader.texts("key"),
        fold=reader.choice("fold", _FOLDS, default=""),
        demotable_by=reader.texts("demotable_by"),
    )
    if options.engine == "re" and not options.engine_reason:
        reader.fault("engine", 'engine = "re" without engine_reason', "why RE2 cannot express the pattern")
    return options


def read_extractor(raw: RawRule, declared: Declared) -> None:
    """Add the rule of an ``[[extractor]]``."""
    reader = raw.reader
    rule = _text_rule(reader, reader.text("match_re"), read_emit(reader), _read_options(reader))
    captures = _captures(reader, rule)
    check_emit(reader, rule.emit, captures)
    _check_key(reader, rule, captures)
    reader.finish()
    declared.text_rules.append(rule)


def read_family(raw: RawRule, declared: Declared) -> None:
    """Add one rule a member of an ``[[extractor_family]]``, named ``<name>.<id>``."""
    reader = raw.reader
    template = _text_rule(reader, reader.text("match_re"), read_emit(reader), _read_options(reader))
    for index, member in expand_family(reader, template.match_re, template.emit):
        name = f"{template.name}.{member.id}"
        provenance = replace(template.provenance, name=name, location=reader.at("members", index))
        rule = replace(template, provenance=provenance, match_re=member.match_re, emit=member.emit)
        captures = _captures(reader, rule, index)
        check_emit(reader, rule.emit, captures, index=index)
        _check_key(reader, rule, captures)
        declared.text_rules.append(rule)
    reader.finish()


def read_catalog_rule(raw: RawRule, declared: Declared) -> None:
    """Add the rule of an ``[[extractor_catalog]]``, and one symptom a row when it says ``symptoms = true``."""
    reader = raw.reader
    rule = _text_rule(reader, reader.text("match_re"), read_emit(reader), _read_options(reader))
    registers = reader.flag("symptoms", default=False)
    family = reader.text("family", default="")
    decode = _decoder(reader, declared)
    found = read_catalog(reader, raw.folder, declared)
    reader.finish()
    if found is None:
        return
    file, table = found
    captures = _captures(reader, rule)
    if decode is None:
        _check_keys_captured(reader, table, captures)
        check_emit(reader, rule.emit, captures, file.columns)
        _check_key(reader, rule, captures)
    else:
        check_emit(reader, rule.emit, None, file.columns)  # a decoder may add any capture
    _check_row_types(file, rule.emit, declared)
    if registers:
        declared.symptoms.extend(catalog_symptoms(file, rule.emit.symptom, family, declared.faults))
    declared.text_rules.append(replace(rule, catalog=table, decode=decode))


def _text_rule(reader: TableReader, match_re: str, emit: Emit, options: _Options) -> TextRule:
    return TextRule(
        provenance=read_provenance(reader),
        match_re=match_re,
        emit=emit,
        sources=options.sources,
        engine=options.engine,
        engine_reason=options.engine_reason,
        key=options.key,
        fold=options.fold,
        demotable_by=options.demotable_by,
    )


def _captures(reader: TableReader, rule: TextRule, index: int | None = None) -> frozenset[str]:
    try:
        return read_pattern(rule.match_re, engine=rule.engine).captures
    except PatternError as error:
        key = "match_re" if index is None else "members"
        reader.fault(key, f"pattern of {rule.name} {_compile_problem(error)}", "a pattern that RE2 accepts", index)
        return frozenset()


def _compile_problem(error: PatternError) -> str:
    text = str(error)
    return text if text.startswith("has ") else f"does not compile: {text}"


def _check_key(reader: TableReader, rule: TextRule, captures: Collection[str]) -> None:
    for index, name in enumerate(rule.key):
        if name not in captures and name not in rule.emit.payload:
            reader.fault("key", f"{name!r} is neither captured nor in the payload", "a capture's name", index)


def _check_keys_captured(reader: TableReader, table: CatalogTable, captures: Collection[str]) -> None:
    for index, name in enumerate(table.keys):
        if name not in captures:
            known = ", ".join(sorted(captures)) or "a named group"
            reader.fault("keys", f"{name!r} is not captured by the pattern", known, index)


def _check_row_types(file: CatalogFile, emit: Emit, declared: Declared) -> None:
    for column in placeholders(emit.type):
        for line, row in file.rows:
            if row.get(column, "") not in EMIT_TYPES:
                declared.faults.add(
                    f"{file.label}:{line}", column, f"is {row.get(column, '')!r}", f"one of {', '.join(EMIT_TYPES)}"
                )


def _decoder(reader: TableReader, declared: Declared) -> Callable[[Mapping[str, str]], Mapping[str, str]] | None:
    name = reader.text("decode", default="")
    if not name:
        return None
    if name not in declared.decoders:
        known = ", ".join(sorted(declared.decoders)) or "one declared with @decoder_def"
        reader.fault("decode", f"unknown decoder {name!r}", known)
    return declared.decoders.get(name)
