"""An installation's choices are read from variables, or refused before anything is served."""

from __future__ import annotations

import pytest

from attribution_service.errors import InvalidRequestError
from attribution_service.settings import Settings, read_settings


def test_what_is_not_said_is_as_shipped() -> None:
    assert read_settings({"HOME": "/root"}) == Settings()


def test_variables_are_read_by_the_type_of_what_they_choose() -> None:
    given = {"ATTRIBUTION_KEEP_RAW": "Yes", "ATTRIBUTION_FETCH_THREADS": " 4 ", "ATTRIBUTION_RULES_RELEASE": "current"}
    assert read_settings(given) == Settings(keep_raw=True, fetch_threads=4, rules_release="current")


def test_every_wrong_variable_is_named_with_what_was_expected() -> None:
    given = {"ATTRIBUTION_KEEP_RAW": "perhaps", "ATTRIBUTION_EVIDENCE_DAYS": "-1", "ATTRIBUTION_FETCH_THREADS": "0"}
    with pytest.raises(InvalidRequestError) as refused:
        read_settings(given)
    assert {fault["field"]: fault["expected"] for fault in refused.value.extras["faults"]} == {
        "ATTRIBUTION_KEEP_RAW": "true or false",
        "ATTRIBUTION_EVIDENCE_DAYS": "a whole number from 0 on",
        "ATTRIBUTION_FETCH_THREADS": "a whole number from 1 on",
    }
    assert str(refused.value) == (
        "the settings are not valid: ATTRIBUTION_KEEP_RAW: 'perhaps'; expected true or false, "
        "ATTRIBUTION_EVIDENCE_DAYS: '-1'; expected a whole number from 0 on, "
        "ATTRIBUTION_FETCH_THREADS: '0'; expected a whole number from 1 on"
    )


@pytest.mark.parametrize(
    "name", ["ATTRIBUTE_SECONDS", "CHUNK_BATCHES", "CHUNK_BYTES", "FETCH_THREADS", "UPLOAD_SECONDS"]
)
def test_nothing_that_work_depends_on_can_be_switched_off(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="settings are not valid"):
        read_settings({f"ATTRIBUTION_{name}": "0"})
