"""The OpenAPI document: committed as generated, served as committed, and true to what the parsers take."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.job.builder import JOB_KEYS
from attribution_service.errors import ServiceError
from attribution_service.http.operations import OPERATIONS
from attribution_service.http.problems import slugs
from attribution_service.openapi import openapi_document
from http_kit import ROOT, SESSION, observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from http_kit import Api

COMMITTED = ROOT / "docs" / "reference" / "openapi.json"


def test_the_committed_document_is_what_the_code_says() -> None:
    made = json.dumps(openapi_document(), indent=1) + "\n"
    assert COMMITTED.read_text() == made, "run: python scripts/write_openapi.py"


def test_the_document_is_served(api: Api) -> None:
    assert api("GET", "/v2/openapi.json").json == json.loads(COMMITTED.read_text())


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_reference_stands_for_something() -> None:
    document = openapi_document()
    for reference in references(document):
        name = re.fullmatch(r"#/components/schemas/(\w+)", reference)
        assert name is not None
        assert name[1] in document["components"]["schemas"]


def test_the_job_has_the_keys_that_the_builder_takes() -> None:
    assert set(openapi_document()["components"]["schemas"]["Job"]["properties"]) == set(JOB_KEYS)


def test_the_observation_has_the_keys_that_the_parser_takes(api: Api) -> None:
    api.open()
    refused = api("POST", f"{SESSION}/observation", observation("x", colour="red"))
    expected = set(refused.json["faults"][0]["expected"].removeprefix("one of ").split(", "))
    described = set(openapi_document()["components"]["schemas"]["Observation"]["properties"])
    assert described - {"object_key"} == expected - {"object_key"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.operation_id)
def test_every_problem_of_an_operation_exists(operation: Any) -> None:
    assert set(operation.problems) <= set(slugs())


def test_every_error_of_the_service_has_a_type_of_its_own() -> None:
    kinds = [kind for kind in ServiceError.__subclasses__() if kind.__module__ == ServiceError.__module__]
    assert len({kind.slug for kind in kinds}) == len(kinds)
