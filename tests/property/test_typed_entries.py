"""The fast reader of log entries and the general one accept the same bodies and read the same from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.errors import ObservationError
from attribution_lib.observation import Observation
from attribution_lib.observation_parse import parse_observation, parse_upload

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = st.text(max_size=20)
STAMPS = st.sampled_from(["2026-06-01T03:14:02Z", "1780283642000000000", "2026-02-29T00:00:00Z", "yesterday", ""])
VALUES = st.one_of(TEXT, st.none(), st.integers(-2, 2_000_001), st.booleans(), STAMPS)
ENTRIES = st.one_of(
    TEXT,
    st.fixed_dictionaries(
        {"line": TEXT},
        optional={"ts": STAMPS, "node": st.sampled_from(["n1", "bad name", None]), "rank": st.integers(-1, 9)},
    ),
    st.dictionaries(st.sampled_from(["line", "ts", "node", "rank", "other"]), VALUES, max_size=5),
)
BODIES = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["applog", "syslog", "node_metrics", "elsewhere"]),
        "format": st.sampled_from(["json", "text", "prometheus_matrix"]),
        "entry_timeseries": st.lists(ENTRIES, max_size=5),
    },
    optional={"stream": TEXT, "first_line": st.integers(-1, 5), "observation_id": TEXT, "extra": TEXT, "rank": VALUES},
)


@settings(max_examples=400, deadline=None)
@given(body=BODIES, ascii_only=st.booleans())
def test_both_readers_agree(body: dict[str, Any], ascii_only: bool) -> None:  # noqa: FBT001 -- drawn
    """An uploaded object is read by the general reader, the same content sent in line by the fast one."""
    entries = [entry for entry in body["entry_timeseries"] if entry != ""]
    header = {key: value for key, value in body.items() if key != "entry_timeseries"}
    if header["format"] != "json":
        return
    lines = [json.dumps(entry, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for entry in entries]
    inline = json.dumps({**header, "entry_timeseries": entries}, ensure_ascii=ascii_only)
    general = outcome(lambda: parse_upload(header, b"\n".join(lines)))
    fast = outcome(lambda: parse_observation(inline.encode("utf-8", "surrogatepass")))
    by_line = b"\n".join([json.dumps(header).encode(), *lines])
    fast_lines = outcome(lambda: parse_observation(by_line, content_type="application/x-ndjson"))
    assert fast == general == fast_lines
    if isinstance(general, Observation):
        assert {fast.digest, fast_lines.digest} == {general.digest}


def outcome(read: Callable[[], Observation]) -> Any:
    """The observation, or that it was refused (addresses differ with the layout)."""
    try:
        return read()
    except ObservationError:
        return "refused"
