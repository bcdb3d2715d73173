"""What the Python rules over application logs share: how general a reading is, and which of two failures was first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import Outcome, SubDomain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, GeneratedSymptomRegistry

__all__ = ["AUTHOR", "UNCAUGHT", "application_symptoms", "before", "general_readings", "generality", "seconds_between"]

AUTHOR = "Application rules"
UNCAUGHT = "Uncaught Python exception"
_CARRIERS = frozenset(
    {
        "Filesystem permission denied",
        "No space left on device",
        "Host memory refused by the system",
        "Unhandled C++ exception",
        "Fatal check in native code",
        "Program or script not found",
        "TensorRT-LLM assertion",
        "ONNX Runtime refuses the model",
        "Model server cannot load a model",
        "PyTorch internal assert",
        "Host name not resolved",
        "Exception in a DataLoader worker",
        "Segmentation fault",
        "Bus error",
    }
)
"""Readings of a text that other rules often recognise as something more specific."""


def generality(symptom: str, registry: GeneratedSymptomRegistry) -> int:
    """How general a reading is: 3 any exception, 2 its class, 1 a carrier's text, 0 a specific reading."""
    if symptom == UNCAUGHT:
        return 3
    if symptom in registry and registry.get(symptom).location.path.endswith("/python.toml"):
        return 2
    return 1 if symptom in _CARRIERS else 0


def general_readings(symptoms: Iterable[str | None], registry: GeneratedSymptomRegistry) -> dict[str, int]:
    """The generality of those of the symptoms that are no specific readings."""
    levels = {symptom: generality(symptom, registry) for symptom in set(symptoms) if symptom is not None}
    return {symptom: levels[symptom] for symptom in sorted(levels) if levels[symptom]}


def application_symptoms(symptoms: Iterable[str | None], registry: GeneratedSymptomRegistry) -> frozenset[str]:
    """Those that are the program's own failure (an injected fault is not compared with others)."""
    return frozenset(
        symptom
        for symptom in set(symptoms)
        if symptom is not None
        and registry.get(symptom).outcome is not Outcome.INJECTED_FAULT
        and registry.sub_domain(symptom) is SubDomain.APPLICATION
    )


def seconds_between(first: Event, second: Event) -> float | None:
    """Seconds from the first occurrence of one to that of the other; None without both times."""
    if first.first.timestamp is None or second.first.timestamp is None:
        return None
    return (second.first.timestamp - first.first.timestamp) / 1_000_000


def before(first: Event, second: Event) -> bool:
    """Whether ``first`` is known to have come first: by time, else by line within one stream."""
    started, at = first.first[0], second.first[0]
    if started is not None and at is not None and started != at:
        return started < at
    same = (first.source, first.stream) == (second.source, second.stream)
    return same and (first.first.line_num or 0) < (second.first.line_num or 0)
