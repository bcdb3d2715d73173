"""What a store remembers of keys that it wrote: never less than it has to."""

from __future__ import annotations

import pytest

from attribution_lib.events.fold import fold_key
from attribution_lib.events.noted import NotedKeys
from event_kit import event


def _noted(noted: NotedKeys, first: int, *nodes: str) -> NotedKeys:
    noted.note(first, [(fold_key(one), one) for one in (event(node=node) for node in nodes)], {})
    return noted


@pytest.mark.parametrize("rests", [False, True])
def test_a_key_that_is_written_again_is_noticed_also_after_a_rest(*, rests: bool) -> None:
    noted = _noted(NotedKeys(), 1, "a", "b")
    if rests:
        noted.rest()
    assert not _noted(noted, 3, "c").repeated
    if rests:
        noted.rest()
    assert _noted(noted, 4, "b").repeated


def test_a_key_of_rows_that_are_gone_is_noticed_also_after_a_rest() -> None:
    noted = _noted(NotedKeys(), 1, "a", "b")
    noted.forget(2)
    noted.rest()
    assert _noted(noted, 2, "b").repeated
