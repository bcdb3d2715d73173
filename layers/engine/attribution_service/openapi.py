"""The OpenAPI document of the v2 API, made from the table of operations and the models that the routes use."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from attribution_lib.fields import CLUSTER_FORM
from attribution_lib.verdict import Verdict
from attribution_lib.version import __version__
from attribution_service.http.operations import OPERATIONS
from attribution_service.http.problems import PROBLEM_JSON, problem_type, slugs
from attribution_service.http.schemas import IDENTIFIER, WRITTEN

if TYPE_CHECKING:
    from pydantic import BaseModel

    from attribution_service.http.operations import Answer, Operation

__all__ = ["openapi_document"]

_REF = "#/components/schemas/"
_COMMON = ("internal-error", "store-unavailable")
_HEADERS = {
    "Location": "Path of what was made",
    "ETag": "Version of the verdict; send it as If-None-Match",
    "Retry-After": "Seconds",
}
_PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "attributor_id": IDENTIFIER,
    "cluster": {"type": "string", "pattern": f"^{CLUSTER_FORM}$"},
    "job_id": IDENTIFIER,
    "attempt": {"type": "integer", "minimum": 0, "maximum": 999_999},
}


@cache
def openapi_document() -> dict[str, Any]:
    """OpenAPI 3.1 as plain values; the same for every deployment of one version."""
    schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GPU job attribution",
            "version": __version__,
            "description": "Turns the evidence of a failed GPU job into one explained verdict. "
            "Every refusal is application/problem+json with a stable type.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"sigv4": []}, {"bearer": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "sigv4": {"type": "apiKey", "name": "Authorization", "in": "header", "description": "AWS SigV4"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _schemas() -> dict[str, Any]:
    wanted: list[tuple[type[BaseModel], Any]] = []
    for operation in OPERATIONS:
        received = (operation.body, operation.query)
        wanted += [(model, "validation") for model in received if model is not None and not isinstance(model, str)]
        wanted += [(answer.model, "serialization") for answer in operation.answers.values() if answer.model]
    wanted.append((Verdict, "serialization"))
    _, made = models_json_schema(list(dict.fromkeys(wanted)), ref_template=f"{_REF}{{model}}")
    found = {**made["$defs"], **WRITTEN}
    found["OpenRequest"]["properties"]["job"] = {"$ref": f"{_REF}Job"}
    found["SessionView"]["properties"]["job"] = {"anyOf": [{"$ref": f"{_REF}Job"}, {"type": "null"}], "default": None}
    return dict(sorted(found.items()))


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "tags": [operation.function],
        "parameters": [*_path_parameters(operation), *_query_parameters(operation, schemas), *_conditions(operation)],
        "responses": {str(status): _answer(answer) for status, answer in operation.answers.items()},
    }
    if operation.body is not None:
        name = operation.body if isinstance(operation.body, str) else operation.body.__name__
        content = {media: {"schema": _body_schema(media, name)} for media in operation.media}
        made["requestBody"] = {"required": True, "content": content}
    made["responses"] |= _problems((*operation.problems, *_COMMON))
    return made


def _body_schema(media: str, name: str) -> dict[str, Any]:
    """NDJSON is a text to OpenAPI: its schema describes one value."""
    return {"type": "string"} if "ndjson" in media else {"$ref": f"{_REF}{name}"}


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in _PATH_PARAMETERS.items()
        if f"{{{name}}}" in operation.path
    ]


def _query_parameters(operation: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    parameters = [{"name": name, "in": "query", "schema": IDENTIFIER} for name in operation.query_names]
    if operation.query is not None:
        properties = schemas[operation.query.__name__]["properties"]
        parameters += [{"name": name, "in": "query", "schema": _given(schema)} for name, schema in properties.items()]
    return parameters


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is left out rather than null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind.get("type") != "null"]
    found = dict(kinds[0]) if kinds else {name: value for name, value in schema.items() if name != "title"}
    if found.get("type") == "integer":
        found |= {"minimum": 1, "maximum": 500, "default": 50}
    return found


def _conditions(operation: Operation) -> list[dict[str, Any]]:
    if 304 not in operation.answers:  # noqa: PLR2004 -- HTTP's own number
        return []
    return [{"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}]


def _answer(answer: Answer) -> dict[str, Any]:
    made: dict[str, Any] = {"description": answer.text}
    name = answer.model.__name__ if answer.model else answer.schema
    if name:
        made["content"] = {"application/json": {"schema": {"$ref": f"{_REF}{name}"}}}
    if answer.headers:
        made["headers"] = {
            header: {"description": _HEADERS[header], "schema": {"type": "string"}} for header in answer.headers
        }
    return made


def _problems(names: tuple[str, ...]) -> dict[str, Any]:
    """{status: response}; problems that share a status are told apart by their type."""
    known = slugs()
    found: dict[str, Any] = {}
    for name in names:
        status, title = known[name]
        entry = found.setdefault(str(status), {"description": "", "content": _problem_content()})
        entry["description"] += f"{'; ' if entry['description'] else ''}{title} (`{problem_type(name)}`)"
    return found


def _problem_content() -> dict[str, Any]:
    return {PROBLEM_JSON: {"schema": {"$ref": f"{_REF}Problem"}}}
