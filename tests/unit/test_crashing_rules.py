"""A rule that raises is a finding in the verdict, never a lost job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import Outcome
from engine_kit import applog, engine_of, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "from attribution_lib.rule_api import RefinerPriority, accumulator_def, collector_def, filter_def, refiner_def\n"
CRASHES = {
    "filter": "@filter_def('Bad', 'tests')\ndef bad(context):\n    raise KeyError('x')\n",
    "refiner": "@refiner_def('Bad', 'tests', RefinerPriority.FINAL)\ndef bad(context):\n    raise KeyError('x')\n",
    "scrub": "@refiner_def('Bad', 'tests', RefinerPriority.SCRUB)\ndef bad(context):\n    raise KeyError('x')\n",
    "post": "@refiner_def('Bad', 'tests', RefinerPriority.POST_OUTCOME)\ndef bad(context):\n    raise KeyError('x')\n",
    "collector": "@collector_def('Bad', 'tests')\ndef bad(context):\n    raise KeyError('x')\n",
    "accumulator": (
        "@accumulator_def('Bad', 'tests', trigger_re='CODE RAISED')\n"
        "def bad(job, captures, line):\n    raise KeyError('x')\n"
    ),
}


@pytest.mark.parametrize("kind", sorted(CRASHES))
def test_the_verdict_is_produced_and_names_the_rule(tmp_path: Path, kind: str) -> None:
    engine = engine_of(tmp_path, python=HEAD + CRASHES[kind])
    verdict = verdict_of(engine, applog("CODE RAISED"))
    assert verdict.outcome is Outcome.APPLICATION_ERROR
    assert [(finding.rule, finding.error, finding.count) for finding in verdict.diagnostics] == [("Bad", "KeyError", 1)]
    assert "extra.py" in verdict.diagnostics[0].location


def test_a_derived_event_of_an_undeclared_symptom_is_a_crash_of_its_rule(tmp_path: Path) -> None:
    program = (
        "@filter_def('Bad', 'tests')\ndef bad(context):\n"
        "    for event in context.event_stream.bad():\n"
        "        emit = context.event_stream.emit\n"
        "        emit(event_type=event.event_type, rule='Bad', derived_from=event, symptom='nobody')\n"
    )
    engine = engine_of(tmp_path, python="from attribution_lib.rule_api import filter_def\n" + program)
    verdict = verdict_of(engine, applog("CODE RAISED"))
    assert verdict.outcome is Outcome.APPLICATION_ERROR
    assert [(finding.rule, finding.error) for finding in verdict.diagnostics] == [("Bad", "ValueError")]


def test_demoted_and_discarded_events_stay_and_say_who_changed_them(tmp_path: Path) -> None:
    program = (
        "@filter_def('Demoter', 'tests')\ndef demoter(context):\n"
        "    for event in context.event_stream.bad(['Part broke']):\n"
        "        context.event_stream.demote(event, by='Demoter')\n"
        "@filter_def('Discarder', 'tests')\ndef discarder(context):\n"
        "    for event in context.event_stream.bad(['Driver hung']):\n"
        "        context.event_stream.discard(event, by='Discarder')\n"
    )
    engine = engine_of(tmp_path, python="from attribution_lib.rule_api import filter_def\n" + program)
    verdict = verdict_of(engine, applog("CODE RAISED", "PART BROKE", "DRIVER HUNG", node="n1"))
    changed = {row.symptom: (row.state, row.changed_by) for row in verdict.symptoms}
    assert changed["Part broke"] == ("demoted", "Demoter")
    assert changed["Driver hung"] == ("discarded", "Discarder")
    assert verdict.outcome is Outcome.APPLICATION_ERROR
