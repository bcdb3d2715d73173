"""What sources are scanned for: a rule of several sources is one and the same in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import TEXT_SOURCES, Source
from rules_kit import extractor, load

if TYPE_CHECKING:
    from pathlib import Path


def test_a_rule_of_all_sources_has_one_regex(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor(match_re=r"it is (?P<how>\w+)"))
    planned = [engine.plans.of(source).rules[0] for source in TEXT_SOURCES]
    assert len({id(rule.confirm) for rule in planned}) == 1
    assert planned[0].confirm.search(b"it is broken", 12) == {"how": "broken"}


def test_a_rule_is_planned_for_its_own_sources_alone(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor(more='sources = ["syslog"]\n'))
    found = {source: [rule.name for rule in engine.plans.of(source).rules] for source in TEXT_SOURCES}
    assert found == {Source.SYSLOG: ["R"], Source.APPLOG: [], Source.SCHEDULER: []}
