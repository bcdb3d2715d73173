"""Executing a Python rule file: fresh on every load, bound to the loader, leaving nothing behind.

A file may import the standard library, ``attribution_lib.rule_api`` and ``common.*``, which is the ``common`` folder
beside it and nothing else on the machine. ``sys.path`` is never touched. While a file runs, its modules stand in
``sys.modules`` under names that no import statement can spell (dataclasses look their module up there).
"""

from __future__ import annotations

import ast
import builtins
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any

from attribution_lib.rule_api import Declaration, registration
from attribution_lib.rules.declared import RawRule, RuleFolder
from attribution_lib.rules.files import read_file
from attribution_lib.rules.model import Location
from attribution_lib.rules.tables import TableReader
from attribution_lib.rules.toml_lines import TableLines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from attribution_lib.rules.faults import FaultLog

__all__ = ["PythonFiles"]

_API = "attribution_lib.rule_api"


class PythonFiles:
    """Executes the ``.py`` files of one rules folder; ``common`` modules run once and are shared by them."""

    def __init__(self, folder: RuleFolder, faults: FaultLog) -> None:
        self._folder = folder
        self._faults = faults
        self._common: dict[str, ModuleType] = {}
        self._installed: list[str] = []

    def read(self, path: Path) -> list[RawRule]:
        """The declarations of one top-level file in order; whatever it raises becomes a fault with its line."""
        label = f"{self._folder.label}/{path.name}"
        try:
            source = read_file(path)
            with registration() as declared:
                self._execute(source, path, path.stem)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- a rule file may raise anything; it is reported
            self._faults.add(
                self._where(error, path), "", f"cannot be executed: {_describe(error)}", "a file that runs"
            )
            return []
        finally:
            self._forget()
        return [self._raw(found, label, source) for found in declared]

    def _raw(self, found: Declaration, label: str, source: bytes) -> RawRule:
        line = found.line or _line_of_class(getattr(found.target, "__name__", ""), source)
        values = {"name": found.name, **{key: _plain(value) for key, value in found.options.items()}}
        reader = TableReader(kind=found.kind, values=values, path=label, lines=TableLines(line), faults=self._faults)
        return RawRule(reader, self._folder, found.target)

    def _execute(self, source: bytes, path: Path, name: str) -> ModuleType:
        module = ModuleType(f"<rules {id(self):x}>.{name}")
        module.__file__ = str(path)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        sys.modules[module.__name__] = module
        self._installed.append(module.__name__)
        code = compile(source, str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 -- executing reviewed rule files is what a loader is for
        return module

    def _forget(self) -> None:
        for name in self._installed:
            sys.modules.pop(name, None)
        self._installed.clear()

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 -- the signature of builtins.__import__
        locals: Mapping[str, Any] | None = None,  # noqa: A002 -- likewise
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        root = name.split(".", 1)[0]
        if level:
            msg = "relative imports are not for rule files; write from common.x import y"
            raise ImportError(msg)
        if root == "common":
            return self._import_common(name, fromlist or ())
        if name != _API and root not in sys.stdlib_module_names:
            msg = f"imports {name}; a rule file may import the standard library, {_API} and common.*"
            raise ImportError(msg)
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    def _import_common(self, name: str, fromlist: Sequence[str]) -> ModuleType:
        package, _, stem = name.partition(".")
        if stem and fromlist:
            return self._common_module(stem)
        space = ModuleType(package)
        for part in (stem,) if stem else fromlist:
            setattr(space, part, self._common_module(part))
        return space

    def _common_module(self, stem: str) -> ModuleType:
        if stem not in self._common:
            path = self._folder.path / "common" / f"{stem}.py"
            if not path.is_file():
                msg = f"no module common.{stem}: {self._folder.label}/common/{stem}.py does not exist"
                raise ImportError(msg)
            with registration() as declared:
                module = self._execute(read_file(path), path, f"common.{stem}")
            if declared:
                msg = f"common/{stem}.py declares {declared[0].name!r}; only top-level rule files may declare rules"
                raise ImportError(msg)
            self._common[stem] = module
        return self._common[stem]

    def _where(self, error: BaseException, path: Path) -> Location:
        if isinstance(error, SyntaxError) and error.filename:
            return self._location(error.filename, error.lineno or 1)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename.startswith(str(self._folder.path))]
        return self._location(own[-1].filename, own[-1].lineno or 1) if own else self._location(str(path), 1)

    def _location(self, filename: str, line: int) -> Location:
        relative = filename.removeprefix(str(self._folder.path)).lstrip("/\\").replace("\\", "/")
        return Location(f"{self._folder.label}/{relative}", line)


def _line_of_class(name: str, source: bytes) -> int:
    """Classes do not know their line."""
    lines = [node.lineno for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name]
    return lines[0] if lines else 1


def _describe(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _plain(value: Any) -> Any:
    """Tuples and sources as a TOML table would hold them, so that one reader serves both."""
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return [str(item) for item in value]
    return value
