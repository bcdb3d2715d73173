"""Every word that a verdict says for its root is one that `rules show` knows."""

from __future__ import annotations

from tests.sample_cases import CASES, bundled_engine, verdict_of


def test_the_root_symptom_of_every_sample_is_a_registered_name() -> None:
    registry = bundled_engine().registry
    roots = {case.name: root.symptom for case in CASES if (root := verdict_of(case).root_cause) is not None}
    assert {name: symptom for name, symptom in roots.items() if symptom not in registry} == {}
