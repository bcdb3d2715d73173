"""The three surfaces of configuration: what the command line, the environment and TOML files give.

--connector eca slurm ids "1,5,7"      NVAB_ECA_SLURM_IDS=1,5,7      [eca.slurm]         ids = "1,5,7"
--connector output db sqlite path X    NVAB_OUTPUT_DB_SQLITE_PATH=X  [output.db.sqlite]  path = "X"
--connector attribution service_url U  NVAB_ATTRIBUTION_SERVICE_URL  [attribution]       service_url = "U"
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attribution_blueprint.frameworks import FRAMEWORKS, settings_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from attribution_blueprint.frameworks import Framework

__all__ = ["PREFIX", "Given", "Slot", "Surface", "SurfaceReader"]

PREFIX = "NVAB_"
INSTANCE_FORM = "[a-z][a-z0-9_]*"
_INSTANCE = re.compile(INSTANCE_FORM)


class Surface(StrEnum):
    """Where a value was given; later ones win over earlier ones."""

    DEFAULT = "default"
    TOML = "TOML"
    ENV = "env"
    CLI = "CLI"


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One group of settings: an instance of a component, or a framework without components."""

    framework: str
    instance: str = ""
    component: str = ""

    @property
    def section(self) -> str:
        """As TOML writes it: ``output.db.sqlite``."""
        named = self.instance if self.instance != self.component else ""
        return ".".join(part for part in (self.framework, named, self.component) if part)


@dataclass(frozen=True, slots=True)
class Given:
    """A value and who gave it. ``key`` is empty where an empty section only names an instance."""

    slot: Slot
    key: str
    value: Any
    surface: Surface
    address: str
    """``site.toml [eca.slurm] ids``, ``NVAB_ECA_SLURM_IDS``, ``--connector eca slurm ids``."""
    folder: Path | None = None
    """Where relative paths of it begin; None: where the command runs."""


@dataclass(slots=True)
class SurfaceReader:
    """Reads surfaces; what is wrong is noted in ``faults`` and the rest is read on."""

    given: list[Given] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def read_toml(self, path: Path) -> None:
        """A configuration file."""
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            self.faults.append(f"TOML {path}: cannot be read ({error.strerror}); expected a TOML file")
            return
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self.faults.append(f"TOML {path}: is not TOML: {error}")
            return
        folder = path.resolve().parent
        for name, table in tables.items():
            framework = FRAMEWORKS.get(name)
            if framework is None or not isinstance(table, dict):
                self._fault(Surface.TOML, f"{path} [{name}]", "no such framework", _among(FRAMEWORKS))
                continue
            for slot, section in self._sections(framework, table, str(path)):
                address = f"{path} [{slot.section}]"
                self.given.append(Given(slot, "", None, Surface.TOML, address, folder))
                for key, value in section.items():
                    self.given.append(Given(slot, key, value, Surface.TOML, f"{address} {key}", folder))

    def _sections(
        self, framework: Framework, table: Mapping[str, Any], path: str
    ) -> Iterator[tuple[Slot, Mapping[str, Any]]]:
        if not framework.components:
            yield Slot(framework.name), table
            return
        for name, value in table.items():
            address = f"{path} [{framework.name}] {name}"
            if not isinstance(value, dict):
                self._fault(Surface.TOML, address, f"{value!r} given", f"a section [{framework.name}.COMPONENT]")
            elif framework.component(name) is not None:
                yield Slot(framework.name, name, name), value
            elif _INSTANCE.fullmatch(name) is None or not value:
                self._fault(Surface.TOML, address, "no such component", _components(framework))
            else:
                yield from self._named(framework, name, value, address)

    def _named(
        self, framework: Framework, instance: str, value: Mapping[str, Any], address: str
    ) -> Iterator[tuple[Slot, Mapping[str, Any]]]:
        for component, section in value.items():
            if framework.component(component) is None or not isinstance(section, dict):
                self._fault(Surface.TOML, f"{address}.{component}", "no such component", _components(framework))
            else:
                yield Slot(framework.name, instance, component), section

    def read_environment(self, environment: Mapping[str, str]) -> None:
        """Every variable that begins with ``NVAB_``."""
        for name in sorted(environment):
            if not name.startswith(PREFIX):
                continue
            value = environment[name]
            found = list(_slots_of(name[len(PREFIX) :].lower()))
            if len(found) == 1:
                slot, key = found[0]
                self.given.append(Given(slot, key, value, Surface.ENV, name))
                continue
            problem = "fits several settings" if found else "names no setting"
            accepted = (
                ", ".join(f"[{slot.section}] {key}" for slot, key in found)
                or f"{PREFIX}FRAMEWORK[_INSTANCE]_COMPONENT_KEY; see: attribution connectors"
            )
            self._fault(Surface.ENV, name, problem, accepted)

    def read_arguments(self, arguments: Sequence[str]) -> list[str]:
        """Every ``--connector …`` of a command line; returns the arguments that are left."""
        rest: list[str] = []
        waiting = list(arguments)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                return [*rest, word, *waiting]
            if word != "--connector":
                rest.append(word)
                continue
            self._take(waiting)
        return rest

    def _take(self, waiting: list[str]) -> None:
        """One setting off the front: three words without components, four with, five for a named instance."""
        framework = FRAMEWORKS.get(waiting[0]) if waiting else None
        if framework is None:
            name = waiting.pop(0) if waiting else ""
            self._fault(Surface.CLI, f"--connector {name}".rstrip(), "no such framework", _among(FRAMEWORKS))
            _skip(waiting)
            return
        count = _words(framework, waiting)
        if count == 0:
            self._fault(Surface.CLI, f"--connector {' '.join(waiting[:3])}", "no component", _components(framework))
            _skip(waiting)
            return
        words, waiting[:count] = waiting[:count], []
        address = "--connector " + " ".join(words[: count - 1])
        if len(words) < count:
            self._fault(Surface.CLI, f"--connector {' '.join(words)}", "value missing", _form(framework, count))
            return
        *place, key, value = words
        slot = Slot(place[0], place[1] if len(place) > 1 else "", place[-1] if len(place) > 1 else "")
        if slot.instance and _INSTANCE.fullmatch(slot.instance) is None:
            self._fault(Surface.CLI, address, f"instance {slot.instance!r}", f"a name of the form {INSTANCE_FORM}")
            return
        self.given.append(Given(slot, key, value, Surface.CLI, address))

    def _fault(self, surface: Surface, address: str, problem: str, accepted: str) -> None:
        self.faults.append(f"{surface.value} {address}: {problem}; accepted: {accepted}")


def _words(framework: Framework, words: Sequence[str]) -> int:
    """How many words the setting at the front has; 0 when no component is named where one must be."""
    if not framework.components:
        return 3
    if len(words) > 1 and framework.component(words[1]) is not None:
        return 4
    return 5 if len(words) > 2 and framework.component(words[2]) is not None else 0  # noqa: PLR2004 -- the third word


def _form(framework: Framework, count: int) -> str:
    words = {3: "KEY VALUE", 4: "COMPONENT KEY VALUE", 5: "INSTANCE COMPONENT KEY VALUE"}[count]
    return f"--connector {framework.name} {words}"


def _skip(waiting: list[str]) -> None:
    """Leave out what cannot be read, up to the next option."""
    while waiting and not waiting[0].startswith("--"):
        waiting.pop(0)


def _slots_of(rest: str) -> Iterator[tuple[Slot, str]]:
    """Every setting that a variable's name can mean."""
    name, _, tail = rest.partition("_")
    framework = FRAMEWORKS.get(name)
    if framework is None:
        return
    if not framework.components:
        if tail in settings_type(framework).model_fields:
            yield Slot(name), tail
        return
    for component in framework.names:
        keys = settings_type(framework, component).model_fields
        for key in keys:
            if tail == f"{component}_{key}":
                yield Slot(name, component, component), key
            elif tail.endswith(f"_{component}_{key}"):
                instance = tail.removesuffix(f"_{component}_{key}")
                if _INSTANCE.fullmatch(instance) is not None and framework.component(instance) is None:
                    yield Slot(name, instance, component), key


def _among(names: Mapping[str, object]) -> str:
    return "one of " + ", ".join(names)


def _components(framework: Framework) -> str:
    named = ", ".join(framework.names)
    return f"one of the components of {framework.name}: {named}; or INSTANCE and one of them"
