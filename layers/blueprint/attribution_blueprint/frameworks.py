"""The frameworks and their components: what can be configured, and which class does it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors import eca, log, metric, output
from attribution_blueprint.connectors.attribution.base import AttributionSettings
from attribution_blueprint.errors import ConfigError
from attribution_blueprint.run_settings import RunSettings

if TYPE_CHECKING:
    from attribution_blueprint.connectors.base import Component
    from attribution_blueprint.setting_types import SettingsGroup

__all__ = ["FRAMEWORKS", "Framework", "component_class", "settings_type"]


@dataclass(frozen=True, slots=True)
class Framework:
    """One role. With ``components`` it has instances of them; without, it is one group of ``settings``."""

    name: str
    summary: str
    components: tuple[Component, ...] = ()
    settings: type[SettingsGroup] | None = None

    def component(self, name: str) -> Component | None:
        """The component of this name."""
        return next((known for known in self.components if known.name == name), None)

    @property
    def names(self) -> list[str]:
        """The names of the components, in the order of the table."""
        return [component.name for component in self.components]


FRAMEWORKS: dict[str, Framework] = {
    framework.name: framework
    for framework in (
        Framework("run", "How a run behaves.", settings=RunSettings),
        Framework("eca", "Which jobs there are.", eca.COMPONENTS),
        Framework("log", "Where log lines come from.", log.COMPONENTS),
        Framework("metric", "Where metrics come from.", metric.COMPONENTS),
        Framework("attribution", "Where verdicts come from.", settings=AttributionSettings),
        Framework("output", "Where verdicts go.", output.COMPONENTS),
    )
}


def component_class(component: Component) -> Any:
    """The class of a component; ``ConfigError`` when what it imports is not installed."""
    module, _, name = component.target.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if not component.extra:
            raise
        msg = (
            f"component {component.name}: {error.name} is not installed; "
            f"expected: pip install 'gpu-job-attribution[{component.extra}]'"
        )
        raise ConfigError([msg]) from error


def settings_type(framework: Framework, component: str = "") -> type[SettingsGroup]:
    """The settings of a framework without components, or of one of its components."""
    found = framework.component(component)
    if found is None:
        assert framework.settings is not None, component  # noqa: S101 -- callers have checked the name
        return framework.settings
    kind: type[SettingsGroup] = component_class(found).Settings
    return kind
