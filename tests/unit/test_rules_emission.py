"""From captures to an event: what names the place, what goes to the payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.events.event import EventType
from attribution_lib.rules.emission import emit_text, place_accumulated
from attribution_lib.rules.model import Emission, TextRule
from rules_kit import BASE, extractor, load

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.emission import Emitted

BAD = 'type = "bad_node", symptom = "Kaputt"'


def _emit(folder: Path, emit: str, match_re: str, captures: dict[str, str]) -> Emitted:
    rule = load(folder, a_toml=extractor(emit, match_re)).rule("R")
    assert isinstance(rule, TextRule)
    found = emit_text(rule, captures)
    assert found is not None
    return found


def test_an_alias_becomes_the_declared_name(tmp_path: Path) -> None:
    assert _emit(tmp_path, BAD, "it is broken", {}).placed.symptom == "Broken"


def test_captures_named_like_places_are_the_place(tmp_path: Path) -> None:
    match_re = "(?P<node>a)(?P<rank>b)(?P<peer>c)(?P<device>d)(?P<pid>e)"
    captures = {"node": "n1", "rank": "7", "peer": "n2", "device": "0", "pid": "12"}
    found = _emit(tmp_path, BAD, match_re, captures)
    assert found.placed[2:] == ("n1", 7, "n2", "0")
    assert found.payload == {"pid": "12"}


def test_templates_name_the_place_and_use_their_captures_up(tmp_path: Path) -> None:
    found = _emit(
        tmp_path, BAD + ', node = "gpu-{host}", device = "{pci}"', "(?P<host>a)(?P<pci>b)", {"host": "1", "pci": "2"}
    )
    assert (found.placed.node, found.placed.device) == ("gpu-1", "2")
    assert found.payload == {"host": "1"}


@pytest.mark.parametrize("captures", [{}, {"node": "", "rank": ""}])
def test_a_group_that_took_no_part_names_no_place(tmp_path: Path, captures: dict[str, str]) -> None:
    found = _emit(tmp_path, BAD, "broken(?P<node>a)?(?P<rank>b)?", captures)
    assert (found.placed.node, found.placed.rank, found.payload) == (None, None, {})


def test_a_rank_that_is_no_number_stays_in_the_payload(tmp_path: Path) -> None:
    found = _emit(tmp_path, BAD, "(?P<rank>x)", {"rank": "MASTER"})
    assert (found.placed.rank, found.payload) == (None, {"rank": "MASTER"})


def test_a_declared_payload_is_filled_and_wins_over_captures(tmp_path: Path) -> None:
    emit = 'type = "mapping", payload = { kind = "rank_host", host = "{host}.{zone}", retries = 3, ok = true }'
    found = _emit(tmp_path, emit, "(?P<host>a)(?P<zone>b)?", {"host": "n1"})
    assert found.placed.event_type == EventType.MAPPING
    assert found.payload == {"host": "n1.", "kind": "rank_host", "retries": "3", "ok": "true"}


def test_braces_that_are_regex_are_left_alone(tmp_path: Path) -> None:
    family = (
        '[[extractor_family]]\nname = "F"\nmatch_re = "bro{2}ken (?P<w>{word}) {other}"\n'
        'emit = { type = "info", payload = { word = "{word}" } }\n'
        'members = [ { id = "a", word = "one|two" }, { id = "b", word = "[0-9]{3}" } ]\n'
    )
    engine = load(tmp_path, a_toml=BASE + family)
    first, second = engine.text_rules
    assert (first.name, first.match_re) == ("F.a", "bro{2}ken (?P<w>one|two) {other}")
    assert (second.name, second.match_re) == ("F.b", "bro{2}ken (?P<w>[0-9]{3}) {other}")
    assert first.provenance.definition == second.provenance.definition == "F"
    assert emit_text(first, {"w": "one"}) is not None


def test_an_accumulators_emission_has_the_same_shape() -> None:
    found = place_accumulated(Emission("bad_node", "Broken", node="n1", rank=3, payload={"n": 1}))
    assert found == (EventType.BAD_NODE, "Broken", "n1", 3, None, None)


def test_only_rules_of_a_loaded_engine_emit(tmp_path: Path) -> None:
    from dataclasses import replace  # noqa: PLC0415 -- this test alone takes a rule apart

    rule = load(tmp_path, a_toml=extractor()).text_rules[0]
    with pytest.raises(ValueError, match="has no emitter"):
        emit_text(replace(rule, emitter=None), {})
