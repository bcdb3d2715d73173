"""The Kubernetes API by way of ``kubectl``, which knows how this machine proves who it is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pydantic import Field

from attribution_blueprint.connectors.commands import CommandRunner, run_command
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import ComponentSettings, OptionalPath, Texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_blueprint.connectors.base import Budget

__all__ = ["Kubectl", "KubectlSettings"]

_PAGE = 500
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class KubectlSettings(ComponentSettings):
    """Settings of every component that asks a Kubernetes cluster."""

    kubectl: Texts = Field(default=("kubectl",), description="The program, with words before it if need be.")
    kubeconfig: OptionalPath = Field(default="", description="kubeconfig file; empty: kubectl's own choice.")
    context: str = Field(default="", description="Context of the kubeconfig; empty: the current one.")


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Reads objects of one cluster; changes nothing."""

    settings: KubectlSettings
    run: CommandRunner = run_command

    def words(self, *words: str) -> list[str]:
        """A whole command."""
        chosen = self.settings
        given = [f"--kubeconfig={chosen.kubeconfig}"] if chosen.kubeconfig else []
        given += [f"--context={chosen.context}"] if chosen.context else []
        return [*chosen.kubectl, *given, *words]

    def get(self, path: str, budget: Budget) -> Any:
        """The object at a path of the API; None when the server knows no such thing."""
        try:
            out = self.run(self.words("get", f"--raw={path}"), budget)
        except CollectError as error:
            if "(NotFound)" in str(error):
                return None
            raise
        try:
            return json.loads(out.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            msg = f"kubectl get --raw={path.partition('?')[0]}: no JSON ({error}); cut off?"
            raise CollectError(msg) from error

    def items(self, path: str, budget: Budget, query: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Everything of a list, page by page; nothing when the server knows no such resource."""
        asked = {"limit": str(_PAGE), **(query or {})}
        while True:
            page = self.get(f"{path}?{urlencode(asked)}", budget)
            if page is None:
                return
            items = page.get("items") if isinstance(page, dict) else None
            if not isinstance(items, list):
                msg = f"{path}: no list of objects"
                raise CollectError(msg)
            yield from (item for item in items if isinstance(item, dict))
            following = page.get("metadata", {}).get("continue", "")
            if not following:
                return
            asked["continue"] = following

    def version(self, group: str, budget: Budget) -> str | None:
        """The version that the server prefers for a group of resources; None when it has none of it."""
        found = self.get(f"/apis/{group}", budget)
        version = (found or {}).get("preferredVersion", {}).get("version")
        return str(version) if isinstance(version, str) and _NAME.fullmatch(version) else None
