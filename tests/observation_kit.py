"""What tests of observations share: a body in one call, and what is read of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_lib.observation_parse import parse_observation

if TYPE_CHECKING:
    from attribution_lib.observation import Observation


def body(**fields: Any) -> bytes:
    given = {"source": "applog", "format": "json", "entry_timeseries": []}
    return json.dumps({key: value for key, value in {**given, **fields}.items() if value is not ...}).encode()


def parse(**fields: Any) -> Observation:
    return parse_observation(body(**fields))
