"""JSON bodies of requests to models, with every fault and its field path."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

    from attribution_service.settings import ServiceLimits

__all__ = ["read_json_object", "read_request", "validated"]

M = TypeVar("M", bound=BaseModel)
_MAX_FAULTS = 20
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
"""A string, or a bracket outside of one."""
_JSON_WORDS = {"a valid dictionary": "a JSON object", "a valid list": "a JSON array"}
_OPENERS, _CLOSERS = frozenset("[{"), frozenset("]}")


def read_request(model: type[M], body: bytes, limits: ServiceLimits) -> M:
    """The request of a JSON body; ``TooLargeError``, ``InvalidRequestError`` naming every field that is wrong."""
    return validated(model, read_json_object(body, limits))


def read_json_object(body: bytes, limits: ServiceLimits) -> dict[str, Any]:
    """A JSON object within the limits of size and depth, duplicate keys refused."""
    if len(body) > limits.request_bytes:
        raise TooLargeError(f"the body has {len(body)} bytes", limit=limits.request_bytes)
    try:
        text = body.decode("utf-8")
        if _depth(text) > limits.json_depth:
            raise _not_json("nested too deeply", f"at most {limits.json_depth} levels")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        raise _not_json("is not UTF-8", "UTF-8 JSON (RFC 8259)") from None
    except (ValueError, RecursionError) as error:
        raise _not_json(f"is not JSON: {str(error)[:200]}", "UTF-8 JSON (RFC 8259)") from None
    if not isinstance(value, dict):
        raise _not_json(f"{type(value).__name__} given", "a JSON object")
    return value


def validated(model: type[M], values: Mapping[str, Any], *, where: str = "") -> M:
    """The model of values that are not from a body (query parameters); ``InvalidRequestError``."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = [_fault(model, found, where) for found in error.errors(include_url=False)]
        raise InvalidRequestError("the request is not valid", faults[:_MAX_FAULTS]) from None


def _fault(model: type[BaseModel], found: ErrorDetails, where: str) -> Fault:
    """What is wrong in the words of every other fault: what was given, and what was expected."""
    address, kind = _address(found["loc"], where), found["type"]
    if kind == "extra_forbidden":
        known = ", ".join(model.model_fields)
        return Fault(address, "", "unknown key", f"one of {known}" if len(found["loc"]) == 1 else "")
    if kind == "missing":
        return Fault(address, "", "missing")
    expected = found["msg"].partition(", unable to")[0].removeprefix("Input should be ").removeprefix("Value error, ")
    expected = expected.replace("String should match pattern", "a string matching")
    given = found["input"]
    problem = f"{str(given)[:60]!r}" if isinstance(given, str | int | float) else f"{_kind(given)} given"
    return Fault(address, "", problem, _JSON_WORDS.get(expected, expected))


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def _address(location: tuple[int | str, ...], where: str) -> str:
    address = where
    for part in location:
        if isinstance(part, int):
            address += f"[{part}]"
        else:
            address += f"{'.' if address else ''}{part[:100]}"
    return address or "body"


def _depth(text: str) -> int:
    """How deep brackets nest outside of strings; the parser itself must never see a body of a million brackets."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        bracket = token.group()
        if bracket in _OPENERS:
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in _CLOSERS:
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"key {twice[:100]!r} is given twice"
        raise ValueError(msg)
    return fields


def _constant(name: str) -> Any:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def _not_json(problem: str, expected: str) -> InvalidRequestError:
    return InvalidRequestError("the body is not valid", [Fault("body", "", problem, expected)])
