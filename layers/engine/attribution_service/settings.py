"""What an installation may choose, and the limits of the v2 API; values only, read from a mapping by the edge."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.names import NodeNames
from attribution_lib.parsing.limits import DEFAULT_LIMITS, Limits
from attribution_service.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ServiceLimits", "Settings", "read_settings"]


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits beside those of one observation's body (``observation``)."""

    observation: Limits = DEFAULT_LIMITS
    observations_per_session: int = 20_000
    request_bytes: int = 4_500_000
    """Of every other request than an observation: a job of 20,000 nodes with its ranks."""
    json_depth: int = 16
    ttl_min: int = 60
    ttl_max: int = 7 * 86_400
    ttl_default: int = 86_400
    page_max: int = 500
    page_default: int = 50
    slab_bytes: int = 16 << 20
    """Of an upload; cut at line ends."""
    feedback_text: int = 4_000


@dataclass(frozen=True, slots=True)
class Settings:
    """An installation's choices."""

    limits: ServiceLimits = field(default_factory=ServiceLimits)
    keep_raw: bool = False
    """Keep redacted bodies with the session, so that a change of rules extracts them again."""
    evidence_days: int = 0
    """Keep redacted bodies beyond the session for re-attribution, for so many days; 0 keeps none."""
    inline_spills: int = 500
    """``attribute`` reads this many new spills in line; more go to an asynchronous invocation."""
    inline_events: int = 20_000
    """``attribute`` does the work of this many new events in line (about two seconds); more is put off as well."""
    inline_seconds: int = 30
    """The lease of an attribution in line: longer than that nobody waits for an answer."""
    attribute_seconds: int = 900
    """The lease of an asynchronous attribution: the function's timeout."""
    chunk_batches: int = 40
    """A workflow delivers at most so many collected observations in one invocation …"""
    chunk_bytes: int = 64 << 20
    """… of at most so many bytes together."""
    inline_chunks: int = 100
    """A workflow holds this many chunks in its own state; more are delivered by executions of their own."""
    fetch_threads: int = 16
    upload_seconds: int = 900
    """Validity of an upload URL."""
    verdict_days: int = 0
    """Keep verdicts for so many days; 0 keeps them for ever."""
    names: NodeNames = field(default_factory=NodeNames)
    """How node names of jobs and evidence are compared."""
    rules_release: str = ""
    """Digest of the rules to load from the store; empty: the bundled ones; ``current``: what was activated last."""


_PREFIX = "ATTRIBUTION_"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")
_AT_LEAST_ONE = frozenset(
    {"attribute_seconds", "chunk_batches", "chunk_bytes", "fetch_threads", "inline_seconds", "upload_seconds"}
)
"""Without one thread, second or batch nothing would ever be done."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from variables such as ``ATTRIBUTION_KEEP_RAW``; ``InvalidRequestError`` naming each that is wrong."""
    values: dict[str, bool | int | str] = {}
    faults: list[Fault] = []
    defaults = Settings()
    for known in fields(Settings):
        name = _PREFIX + known.name.upper()
        default = getattr(defaults, known.name)
        if name not in environment or not isinstance(default, bool | int | str):
            continue
        try:
            values[known.name] = _value(environment[name], default, int(known.name in _AT_LEAST_ONE))
        except ValueError as error:
            faults.append(Fault(name, "", f"{environment[name][:60]!r}", str(error)))
    if faults:
        raise InvalidRequestError("the settings are not valid", faults)
    return Settings(**values)  # type: ignore[arg-type]  # each value has the type of its default


def _value(text: str, default: bool | int | str, least: int) -> bool | int | str:  # noqa: FBT001 -- its type is asked for
    if isinstance(default, bool):
        lowered = text.strip().lower()
        if lowered not in _TRUE + _FALSE:
            msg = "true or false"
            raise ValueError(msg)
        return lowered in _TRUE
    if isinstance(default, int):
        if not text.strip().isdecimal() or int(text) < least:
            msg = f"a whole number from {least} on"
            raise ValueError(msg)
        return int(text)
    return text.strip()
