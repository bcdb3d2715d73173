"""Many configurations, one after the other, with one service and one sink for all that name the same one."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_blueprint.connectors.attribution import connect
from attribution_blueprint.errors import ConfigError
from attribution_blueprint.orchestrator import close_all
from attribution_blueprint.setting_types import Secret
from attribution_blueprint.settings import read_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.base import AttributionConnector, AttributionSettings
    from attribution_blueprint.connectors.output.base import OutputConnector
    from attribution_blueprint.setting_types import SettingsGroup
    from attribution_blueprint.settings import Configuration
    from attribution_blueprint.surfaces import Given

__all__ = ["Services", "Sinks", "configuration_files", "read_all"]


def configuration_files(paths: Sequence[Path]) -> list[Path]:
    """Files as given, and the ``*.toml`` of folders, sorted by name; ``ConfigError`` for a path that is neither."""
    files: list[Path] = []
    faults = []
    for path in paths:
        if path.is_dir():
            found = sorted(path.glob("*.toml"))
            files += found
            if not found:
                faults.append(f"--configs {path}: holds no *.toml; accepted: configuration files, or folders of them")
        elif path.is_file():
            files.append(path)
        else:
            faults.append(f"--configs {path}: is not there; accepted: configuration files, or folders of them")
    if faults:
        raise ConfigError(faults)
    return files


def read_all(
    files: Sequence[Path], environment: Mapping[str, str], arguments: Sequence[Given], *, reveal: bool = True
) -> list[Configuration]:
    """The configuration of each file, or the one without a file; ``ConfigError`` with the faults of all of them.

    ``reveal``: see ``read_configuration``.
    """
    configurations: list[Configuration] = []
    faults: list[str] = []
    chosen: Sequence[Path | None] = files or [None]
    for file in chosen:
        try:
            configurations.append(read_configuration(file, environment, arguments, reveal=reveal))
        except ConfigError as error:
            faults += [fault for fault in error.faults if fault not in faults]
    if faults:
        raise ConfigError(faults)
    return configurations


@dataclass(slots=True)
class Services:
    """Services by their settings; each is checked when it is first asked for."""

    _known: dict[str, AttributionConnector] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, settings: AttributionSettings) -> AttributionConnector:
        """The service of these settings; ``AttributionFailedError``."""
        key = f"{settings!r} {_secrets(settings)}"
        with self._lock:
            if key not in self._known:
                service = connect(settings)
                service.check()
                self._known[key] = service
            return self._known[key]

    @contextmanager
    def closing(self) -> Iterator[Services]:
        """Close them all at the end."""
        try:
            yield self
        finally:
            for service in self._known.values():
                service.close()


@dataclass(slots=True)
class Sinks:
    """Sinks by their instance and settings: what is opened for one configuration stays open for the next."""

    _known: dict[str, OutputConnector] = field(default_factory=dict)

    def of(self, configuration: Configuration) -> dict[str, OutputConnector]:
        """The sinks of a configuration, by instance."""
        found: dict[str, OutputConnector] = {}
        for group in configuration.of("output"):
            key = f"{group.slot} {group.settings!r} {_secrets(group.settings)}"
            if key not in self._known:
                self._known[key] = group.make()
            found[group.slot.instance] = self._known[key]
        return found

    @contextmanager
    def closing(self) -> Iterator[Sinks]:
        """Close them all at the end."""
        try:
            yield self
        finally:
            close_all(self._known)


def _secrets(settings: SettingsGroup) -> list[str]:
    """What does not show in the representation of settings, and makes them others."""
    return [value.get_secret_value() for _, value in settings if isinstance(value, Secret)]
