"""Static files: read from the package, addressed by their content so that browsers may keep them for ever."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Asset", "assets", "versions"]

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    body: bytes
    content_type: str
    version: str


@cache
def assets() -> Mapping[str, Asset]:
    """{name: file}; licences of what is not ours lie beside it."""
    found = {}
    for entry in sorted(files("dashboard").joinpath("static").iterdir(), key=lambda entry: entry.name):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None and entry.is_file():
            body = entry.read_bytes()
            found[entry.name] = Asset(body, kind, sha256(body).hexdigest()[:12])
    return MappingProxyType(found)


@cache
def versions() -> Mapping[str, str]:
    """{name: version} for ``Links``."""
    return MappingProxyType({name: asset.version for name, asset in assets().items()})
