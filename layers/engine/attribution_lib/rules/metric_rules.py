"""Reading ``[[metric_extractor]]``: a threshold over one metric, or a metric whose value is a catalogue code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_lib.rules.catalogs import read_catalog
from attribution_lib.rules.emits import check_emit, read_emit
from attribution_lib.rules.model import MetricRule, Reduce
from attribution_lib.rules.provenance import read_provenance

if TYPE_CHECKING:
    from attribution_lib.rules.catalogs import CatalogFile
    from attribution_lib.rules.declared import Declared, RawRule
    from attribution_lib.rules.model import CatalogTable
    from attribution_lib.rules.tables import TableReader

__all__ = ["OPERATORS", "read_metric_rule"]

OPERATORS = (">", ">=", "<", "<=", "==", "!=")
_DURATION = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_metric_rule(raw: RawRule, declared: Declared) -> None:
    """Add the rule of a ``[[metric_extractor]]``."""
    reader = raw.reader
    _check_sources(reader)
    emit = read_emit(reader)
    code_label = reader.text("code_label", default="")
    found = _read_catalog(raw, declared)
    rule = MetricRule(
        provenance=read_provenance(reader),
        metric=reader.text("metric"),
        reduce=reader.member("reduce", Reduce),
        op=reader.choice("op", OPERATORS),
        value=reader.number("value"),
        emit=emit,
        window_seconds=_window(reader),
        for_models=reader.texts("for_models"),
        catalog=found[1] if found else None,
        code_label=code_label,
        demotable_by=reader.texts("demotable_by"),
        labels=_labels(reader),
    )
    if rule.reduce is Reduce.TURNS and rule.window_seconds is not None:
        reader.fault("window", "is set, but a turn is between two samples", 'no window with reduce = "turns"')
    check_emit(reader, emit, None, found[0].columns if found else ())
    if code_label and not reader.has("catalog"):
        reader.fault("code_label", "needs a catalog to look the code up in", 'catalog = "catalogs/….csv"')
    reader.finish()
    declared.metric_rules.append(rule)


def _read_catalog(raw: RawRule, declared: Declared) -> tuple[CatalogFile, CatalogTable] | None:
    if not raw.reader.has("catalog"):
        return None
    found = read_catalog(raw.reader, raw.folder, declared)
    if found and len(found[1].keys) != 1:
        raw.reader.fault("keys", f"has {len(found[1].keys)} columns", "the one column that holds the code")
    return found


def _check_sources(reader: TableReader) -> None:
    sources = reader.raw("sources")
    if reader.has("sources") and sources != [Source.NODE_METRICS.value]:
        reader.fault("sources", f"is {sources!r}", f'["{Source.NODE_METRICS}"], or nothing')


def _labels(reader: TableReader) -> tuple[tuple[str, tuple[str, ...]], ...]:
    labels = []
    for name, patterns in reader.table("labels").items():
        if isinstance(patterns, list) and patterns and all(isinstance(one, str) and one for one in patterns):
            labels.append((name, tuple(patterns)))
        else:
            reader.fault("labels", f"{name} is {patterns!r}", 'an array of shell patterns, as in device = ["eth*"]')
    return tuple(labels)


def _window(reader: TableReader) -> int | None:
    text = reader.text("window", default="")
    if not text:
        return None
    match = _DURATION.fullmatch(text)
    if match is None or int(match.group(1)) == 0:
        reader.fault("window", f"is {text!r}", "a duration like 30s, 5m, 2h or 1d")
        return None
    return int(match.group(1)) * _SECONDS[match.group(2)]
