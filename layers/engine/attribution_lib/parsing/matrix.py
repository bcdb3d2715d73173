"""Prometheus matrix series, from the wire or from a saved reply of the query API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.observation import MetricSeries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.fields import FieldChecker
    from attribution_lib.parsing.limits import Limits

__all__ = ["NAME_LABEL", "read_matrix"]

NAME_LABEL = "__name__"
_SERIES_KEYS = ("metric", "values")
_MAX_LABELS = 200
_MAX_SECONDS = 253_402_300_799
"""The end of the year 9999; a larger number is in another unit."""
_NUMBER_CHARACTERS = frozenset("0123456789+-.eEinfINFaNA")


def read_matrix(series: Sequence[Any], check: FieldChecker, limits: Limits) -> list[MetricSeries]:
    """The series of ``[{"metric": {labels}, "values": [[seconds, "value"], …]}, …]``; faults go to ``check``."""
    if len(series) > limits.entries:
        check.fault("entry_timeseries", f"{len(series)} series", f"at most {limits.entries}")
        return []
    found: list[MetricSeries] = []
    for index, item in enumerate(series):
        if len(check.faults) >= check.limit:
            break
        address = f"entry_timeseries[{index}]"
        if not isinstance(item, dict):
            check.wrong_type(address, item, 'a series {"metric", "values"}')
            continue
        check.unknown_keys(item, _SERIES_KEYS, address)
        labels = _labels(item.get("metric"), f"{address}.metric", check)
        samples = _samples(item.get("values"), f"{address}.values", check)
        found.append(MetricSeries(labels, samples))
    return found


def _labels(value: Any, address: str, check: FieldChecker) -> dict[str, str]:
    if not isinstance(value, dict):
        check.wrong_type(address, value, "an object of labels")
        return {}
    if len(value) > _MAX_LABELS:
        check.fault(address, f"{len(value)} labels", f"at most {_MAX_LABELS}")
        return {}
    if not value.get(NAME_LABEL):
        check.fault(f"{address}.{NAME_LABEL}", "missing", "the metric's name")
    for key, text in value.items():
        check.text(text, f"{address}.{key[:100]}")
    return value


def _samples(value: Any, address: str, check: FieldChecker) -> list[tuple[int, float]]:
    if not isinstance(value, list):
        check.wrong_type(address, value, 'a list of [seconds, "value"]')
        return []
    try:
        return [(_micros(at), _number(number)) for at, number in value]
    except (TypeError, ValueError):
        _blame_samples(value, address, check)
        return []


def _blame_samples(samples: list[Any], address: str, check: FieldChecker) -> None:
    for index, sample in enumerate(samples):
        if len(check.faults) >= check.limit:
            return
        try:
            at, number = sample
            _micros(at)
            _number(number)
        except (TypeError, ValueError) as error:
            check.fault(f"{address}[{index}]", f"{str(sample)[:60]} is no sample: {error}", '[seconds, "value"]')


def _micros(seconds: float) -> int:
    if type(seconds) not in (int, float):
        msg = "the time is no number"
        raise TypeError(msg)
    if not 0 <= seconds <= _MAX_SECONDS:
        msg = "the time is not in seconds since 1970"
        raise ValueError(msg)
    return round(seconds * 1_000_000)


def _number(value: str | float) -> float:
    if type(value) is str:
        if not _NUMBER_CHARACTERS.issuperset(value):  # float() would take "1_000" and " 1 "
            msg = "the value is no number"
            raise ValueError(msg)
        return float(value)
    if type(value) not in (int, float):
        msg = "the value is no number"
        raise TypeError(msg)
    return float(value)
