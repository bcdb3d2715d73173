"""What ``template.yaml`` deploys, as far as a local server needs it: functions, their handlers and their routes."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from attribution_blueprint.errors import DeploymentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DeployedFunction", "Deployment", "Handler", "Route", "read_deployment", "read_template", "template_path"]

Handler: TypeAlias = Callable[[dict[str, Any], Any], Any]
"""What Lambda calls: (event, context) → answer."""
_FUNCTION = "AWS::Serverless::Function"
_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class DeployedFunction:
    """One function of the template."""

    name: str
    """Its logical id."""
    folder: Path
    handler: str
    """``module.attribute``."""
    timeout: int


@dataclass(frozen=True, slots=True)
class Route:
    """One route of the template and the function that answers it."""

    method: str
    path: str
    """As written, ``{name}`` for a parameter."""
    function: str
    pattern: re.Pattern[str]
    """Of a raw path: what a parameter matches may still be percent-encoded."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Functions by logical id, and routes with those without parameters first."""

    functions: dict[str, DeployedFunction]
    routes: tuple[Route, ...]

    def load(self) -> dict[str, Handler]:
        """The handlers as Lambda would call them, by logical id; each file is executed afresh."""
        return {name: _handler(function) for name, function in self.functions.items()}


def template_path() -> Path:
    """The template of this checkout, or the copy that an installed package carries beside the functions."""
    package = Path(__file__).resolve().parent
    installed = package / "functions" / "template.yaml"
    return installed if installed.is_file() else package.parents[2] / "template.yaml"


def read_deployment(template: Path) -> Deployment:
    """The functions and routes of a template; ``DeploymentError`` says what is missing."""
    read = read_template(template)
    shared = read.get("Globals", {}).get("Function", {})
    functions: dict[str, DeployedFunction] = {}
    routes: list[Route] = []
    for name, resource in read["Resources"].items():
        if resource.get("Type") != _FUNCTION:
            continue
        properties = {"Timeout": 3, **shared, **resource["Properties"]}
        folder = _code_folder(template, name, str(properties["CodeUri"]))
        functions[name] = DeployedFunction(name, folder, str(properties["Handler"]), int(properties["Timeout"]))
        routes += _routes(name, properties.get("Events") or {})
    return Deployment(functions, tuple(sorted(routes, key=lambda route: (route.path.count("{"), route.path))))


def read_template(template: Path) -> dict[str, Any]:
    """The template as plain values; ``!Ref X`` becomes ``{"Ref": "X"}``, ``!Sub X`` ``{"Fn::Sub": "X"}``."""
    try:
        # The loader is SafeLoader with one more constructor, which makes dicts only.
        read = yaml.load(template.read_text(encoding="utf-8"), _Loader)  # noqa: S506 -- see above
    except (OSError, yaml.YAMLError) as error:
        msg = f"{template}: cannot be read: {error}; expected the SAM template"
        raise DeploymentError(msg) from error
    if not isinstance(read, dict) or "Resources" not in read:
        msg = f"{template}: has no Resources; expected the SAM template"
        raise DeploymentError(msg)
    return read


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}  # type: ignore[arg-type]  # the third and last kind of node


_Loader.add_multi_constructor("!", _intrinsic)


def _code_folder(template: Path, name: str, code_uri: str) -> Path:
    """Functions lie beside the template, or in the very folder that holds it once installed."""
    for folder in (template.parent / code_uri, template.parent / Path(code_uri).name):
        if folder.is_dir():
            return folder
    msg = f"{template} {name}.CodeUri: there is no folder {code_uri}"
    raise DeploymentError(msg)


def _routes(function: str, events: dict[str, Any]) -> Iterator[Route]:
    for event in events.values():
        if event.get("Type") != "Api":
            continue
        path = str(event["Properties"]["Path"])
        pattern = re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")))
        yield Route(str(event["Properties"]["Method"]).upper(), path, function, pattern)


def _handler(function: DeployedFunction) -> Handler:
    module, _, attribute = function.handler.rpartition(".")
    file = function.folder / f"{module}.py"
    spec = importlib.util.spec_from_file_location(f"attribution_function_{function.folder.name}", file)
    if spec is None or spec.loader is None or not file.is_file():
        msg = f"{function.name}: there is no {file}"
        raise DeploymentError(msg)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    handler: Handler = getattr(loaded, attribute)
    return handler
