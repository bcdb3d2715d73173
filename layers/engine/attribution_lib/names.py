"""How node names compare: FQDN to short, an explicit mapping, ignored prefixes."""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["NodeNames", "is_address"]


@dataclass(frozen=True, slots=True)
class NodeNames:
    """Turns any spelling of a node's name into the canonical one.

    ``mapping`` wins over everything; then ``domain_resolver`` (full name → name, None to decline); then ignored
    prefixes are cut and a domain is dropped. IP addresses stay whole.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    ignored_prefixes: tuple[str, ...] = ()
    domain_resolver: Callable[[str], str | None] | None = None
    spelt: Mapping[str, str] = field(default_factory=dict)
    """Lower case → the job's spelling: host names do not differ by case."""

    def of_job(self, nodes: Sequence[str]) -> NodeNames:
        """The same, and a node of this job has the job's spelling in whatever case a log prints it."""
        count = Counter(node.lower() for node in nodes)
        return replace(self, spelt={node.lower(): node for node in nodes if count[node.lower()] == 1})

    def canonical(self, name: str) -> str:
        """The one spelling under which this node is known; an empty name stays empty."""
        name = self._known(name.strip())
        return self.spelt.get(name.lower(), name) if self.spelt else name

    def _known(self, name: str) -> str:
        if not name or name in self.mapping:
            return self.mapping.get(name, name)
        if self.domain_resolver is not None:
            resolved = self.domain_resolver(name)
            if resolved:
                return resolved
        for prefix in self.ignored_prefixes:
            if name.startswith(prefix) and len(name) > len(prefix):
                name = name[len(prefix) :]
                break
        if "." in name and not is_address(name):
            name = name.split(".", 1)[0]
        return self.mapping.get(name, name)


def is_address(name: str) -> bool:
    """Whether a node is named by its IP address, which cannot be compared with host names."""
    if not name[:1].isdigit() and ":" not in name:
        return False  # most names, and the library's way to say so is an exception
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
