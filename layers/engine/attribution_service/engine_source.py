"""Which engine is in force: the bundled rules, a published release, or whatever release is current."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from attribution_lib.rules.loader import load_engine
from attribution_service.rules_release import CURRENT, active_release, fetch_rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.ports import ObjectStore

__all__ = ["EngineSource"]

_LOOK_AGAIN = 60


class EngineSource:
    """A callable that gives the engine and loads it once; with ``current`` it looks once a minute for a new release.

    ``release`` is ``Settings.rules_release``; releases are unpacked below ``folder``, matchers cached in ``cache``.
    """

    def __init__(  # noqa: PLR0913 -- where everything is, all but the store and the setting keyword-only
        self,
        objects: ObjectStore,
        release: str,
        *,
        folder: Path,
        cache: Path | None,
        clock: Callable[[], float],
        bundled: Path | None = None,
    ) -> None:
        self._objects = objects
        self._release = release
        self._folder = folder
        self._cache = cache
        self._clock = clock
        self._bundled = bundled
        self._lock = Lock()
        self._engine: RuleEngine | None = None
        self._digest = ""
        self._looked = 0.0

    def __call__(self) -> RuleEngine:
        """The engine of the rules in force; ``NotFoundError`` when their release was never published."""
        engine = self._engine
        if engine is not None and (self._release != CURRENT or self._clock() < self._looked + _LOOK_AGAIN):
            return engine
        with self._lock:
            digest = self._wanted()
            if self._engine is None or digest != self._digest:
                self._engine = self._load(digest)
                self._digest = digest
            return self._engine

    def _wanted(self) -> str:
        """The digest to load; empty for the bundled rules."""
        if self._release != CURRENT:
            return self._release
        self._looked = self._clock()
        release = active_release(self._objects)
        return "" if release is None else release.digest

    def _load(self, digest: str) -> RuleEngine:
        if not digest:
            return load_engine(None if self._bundled is None else [self._bundled], cache_dir=self._cache)
        return load_engine([fetch_rules(self._objects, digest, self._folder)], cache_dir=self._cache)
