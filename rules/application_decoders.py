"""Support functions for the catalogue rules over application logs: pure, captures → captures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import decoder_def

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"cudaError[A-Z]\w+|CUDA_ERROR_[A-Z][A-Z_]+")
_TAIL = re.compile(r" when calling| at /| at [\w./-]+:\d| in /| \(|[`\"!\\,;]|\. |:| [\w./-]+\.cuh? \d")
"""Where the text of a CUDA error ends and the caller's own words begin."""
_REFUSED = frozenset(
    {
        "invalid argument",
        "invalid resource handle",
        "invalid device context",
        "invalid device pointer",
        "invalid device symbol",
        "named symbol not found",
    }
)
"""What CUDA answers to a call that NCCL should not have made: of the library or the platform, not of the program."""


_CHANGED_DIGITS = 2
"""Numbers below 100 had other meanings before CUDA 10.1: the text beside them has not changed."""


@decoder_def("cuda_error")
def cuda_error(captures: Mapping[str, str]) -> dict[str, str]:
    """The key of the CUDA catalogue: a runtime or driver name, else the error's text, else its number."""
    printed = next((captures[group] for group in ("text", "tail", "placed", "phrase") if captures.get(group)), "")
    named = captures.get("name") or next(iter(_NAME.findall(printed)), "")
    text = _TAIL.split(printed, maxsplit=1)[0].strip().rstrip(".)")
    if captures.get("nccl"):
        refused = captures["nccl"].strip() in _REFUSED
        return {**captures, "word": "nccl call" if refused else captures["nccl"].strip()}
    if "_STATUS_" in text:
        return {**captures, "word": "library status"}
    code = captures.get("code") or ""
    if text and len(code) <= _CHANGED_DIGITS:
        code = ""
    word = named or captures.get("number") or captures.get("geryon") or code or text
    return {**captures, "word": word}
