"""One settings tree of three surfaces: command line over environment over TOML over defaults."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import SecretStr, ValidationError

from attribution_blueprint.errors import AuthError, ConfigError
from attribution_blueprint.frameworks import FRAMEWORKS, component_class, settings_type
from attribution_blueprint.secrets import is_reference, secret_source
from attribution_blueprint.setting_types import Accepted, ComponentSettings, PathMark
from attribution_blueprint.surfaces import Given, Slot, Surface, SurfaceReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic.fields import FieldInfo

    from attribution_blueprint.connectors.attribution.base import AttributionSettings
    from attribution_blueprint.run_settings import RunSettings
    from attribution_blueprint.setting_types import SettingsGroup

__all__ = ["Configuration", "Group", "accepted", "read_configuration"]

_ORDER = {surface: number for number, surface in enumerate(Surface)}
_DEFAULT_SINK = Slot("output", "stdout", "stdout")


@dataclass(frozen=True, slots=True)
class Group:
    """The settings of one instance, or of a framework without components, and who gave each."""

    slot: Slot
    settings: SettingsGroup
    origins: Mapping[str, Given] = field(default_factory=dict)
    """Keys that are not here are at their defaults."""

    @property
    def active(self) -> bool:
        """Whether it takes part."""
        return not isinstance(self.settings, ComponentSettings) or self.settings.enabled

    def make(self) -> Any:
        """The connector of these settings."""
        component = FRAMEWORKS[self.slot.framework].component(self.slot.component)
        assert component is not None, self.slot  # noqa: S101 -- reading has checked it
        return component_class(component)(self.slot.instance, self.settings)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective tree of one configuration; ``address`` names its file."""

    address: str
    groups: tuple[Group, ...]

    def of(self, framework: str) -> list[Group]:
        """The active instances of a framework, sorted by name."""
        return [group for group in self.groups if group.slot.framework == framework and group.active]

    @property
    def run(self) -> RunSettings:
        """How the run behaves."""
        return cast("RunSettings", self.of("run")[0].settings)

    @property
    def attribution(self) -> AttributionSettings:
        """Where verdicts come from."""
        return cast("AttributionSettings", self.of("attribution")[0].settings)


def read_configuration(
    file: Path | None, environment: Mapping[str, str], arguments: Sequence[Given] = (), *, reveal: bool = True
) -> Configuration:
    """The tree of one file (or none), the environment and what ``SurfaceReader.read_arguments`` found.

    Secrets that are named by reference are looked up, unless ``reveal`` is False. ``ConfigError`` with every fault:
    surface, key, what was given, what is accepted.
    """
    reader = SurfaceReader()
    if file is not None:
        reader.read_toml(file)
    reader.read_environment(environment)
    given = [*reader.given, *arguments]
    faults = reader.faults + _clashes(given)
    slots = {one.slot for one in given} | {Slot(known.name) for known in FRAMEWORKS.values() if not known.components}
    if not any(slot.framework == "output" for slot in slots):
        slots.add(_DEFAULT_SINK)
    secret = secret_source() if reveal else None
    groups = [_group(slot, [one for one in given if one.slot == slot], faults, secret) for slot in sorted(slots)]
    if faults:
        raise ConfigError(faults)
    return Configuration(str(file or "command line"), tuple(group for group in groups if group is not None))


def accepted(field_info: FieldInfo) -> str:
    """What a setting accepts, in words."""
    for mark in field_info.metadata:
        if isinstance(mark, Accepted):
            return mark.words
    schema = _schema_of(field_info)
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    words = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
    return words.get(str(schema.get("type")), "text") + _bounds(field_info)


def _schema_of(field_info: FieldInfo) -> Mapping[str, Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 -- only errors and the reference need it

    schema: Mapping[str, Any] = TypeAdapter(cast("Any", field_info.annotation)).json_schema()
    return schema


def _bounds(field_info: FieldInfo) -> str:
    lowest = next((mark.ge for mark in field_info.metadata if hasattr(mark, "ge")), None)
    highest = next((mark.le for mark in field_info.metadata if hasattr(mark, "le")), None)
    pattern = next((mark.pattern for mark in field_info.metadata if getattr(mark, "pattern", None)), None)
    if lowest is not None:
        return f", {lowest} to {highest}" if highest is not None else f", {lowest} or more"
    return f" matching {pattern}" if pattern else ""


def _clashes(given: Sequence[Given]) -> list[str]:
    """One instance is of one component."""
    first: dict[tuple[str, str], Given] = {}
    faults = []
    for one in given:
        known = first.setdefault((one.slot.framework, one.slot.instance), one)
        if known.slot != one.slot:
            faults.append(
                f"{one.surface.value} {one.address}: instance {one.slot.instance!r} is a {known.slot.component} "
                f"already ({known.address}); accepted: another name"
            )
    return faults


def _group(slot: Slot, given: Sequence[Given], faults: list[str], secret: Callable[[str], str] | None) -> Group | None:
    """The checked settings of one slot; None with its faults noted."""
    kind = settings_type(FRAMEWORKS[slot.framework], slot.component)
    origins: dict[str, Given] = {}
    before = len(faults)
    for one in sorted(given, key=lambda one: _ORDER[one.surface]):
        if not one.key:
            continue
        if one.key not in kind.model_fields:
            faults.append(f"{one.surface.value} {one.address}: unknown key; accepted: {_known(one.key, kind)}")
            continue
        origins[one.key] = one
    values = {key: _placed(one, kind.model_fields[key]) for key, one in origins.items()}
    if secret is not None:
        _reveal(values, kind, origins, faults, secret)
    try:
        settings = kind.model_validate(values)
    except ValidationError as error:
        faults.extend(_fault(slot, kind, origins, found) for found in error.errors(include_url=False))
        return None
    return Group(slot, settings, origins) if len(faults) == before else None


def _reveal(
    values: dict[str, Any],
    kind: type[SettingsGroup],
    origins: Mapping[str, Given],
    faults: list[str],
    secret: Callable[[str], str],
) -> None:
    """Put each named secret in place of its name."""
    for key, value in values.items():
        if kind.model_fields[key].annotation is SecretStr and isinstance(value, str) and is_reference(value):
            try:
                values[key] = secret(value)
            except AuthError as error:
                faults.append(f"{origins[key].surface.value} {origins[key].address}: {error}")


def _fault(slot: Slot, kind: type[SettingsGroup], origins: Mapping[str, Given], found: Any) -> str:
    key = str(found["loc"][0]) if found["loc"] else ""
    one = origins.get(key)
    if one is None:
        what = accepted(kind.model_fields[key]) if key else found["msg"].removeprefix("Value error, ")
        problem = "missing" if key else "these do not go together"
        return f"[{slot.section}] {key}: {problem}; accepted: {what}"
    info = kind.model_fields[key]
    shown = "(secret)" if info.annotation is SecretStr else repr(one.value)[:80]
    reason = found["msg"].removeprefix("Value error, ")
    return f"{one.surface.value} {one.address}: {shown} given ({reason}); accepted: {accepted(info)}"


def _known(key: str, kind: type[SettingsGroup]) -> str:
    close = difflib.get_close_matches(key, kind.model_fields, 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return ", ".join(kind.model_fields) + hint


def _placed(one: Given, info: FieldInfo) -> Any:
    """The value, with relative paths of a TOML file taken from its folder."""
    if one.folder is None or not any(isinstance(mark, PathMark) for mark in info.metadata):
        return one.value
    folder = one.folder
    if isinstance(one.value, str) and "," not in one.value:
        return _within(folder, one.value)
    values = one.value.split(",") if isinstance(one.value, str) else one.value
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return [_within(folder, value.strip()) for value in values if value.strip()]
    return one.value


def _within(folder: Path, value: str) -> str:
    return value if not value or value == "-" or value.startswith("~") or "://" in value else str(folder / value)
