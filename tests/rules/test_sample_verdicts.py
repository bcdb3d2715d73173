"""What holds for the verdict over every sample, whatever it says."""

from __future__ import annotations

from tests.sample_cases import CASES, bundled_engine, verdict_of

from attribution_lib.taxonomy import SubDomain, sub_domain_of


def test_the_root_symptom_of_every_sample_is_a_registered_name() -> None:
    registry = bundled_engine().registry
    roots = {case.name: root.symptom for case in CASES if (root := verdict_of(case).root_cause) is not None}
    assert {name: symptom for name, symptom in roots.items() if symptom not in registry} == {}


def test_every_undecided_verdict_asks_for_what_would_decide_it() -> None:
    undecided = (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)
    asked = {
        case.name: verdict.needed_evidence
        for case in CASES
        if sub_domain_of((verdict := verdict_of(case)).outcome) in undecided
    }
    assert asked
    assert [name for name, needed in asked.items() if not needed] == []
