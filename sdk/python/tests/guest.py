"""Runs a plugin the way a component does, on the bindings that componentize-py writes for editors:
the same glue, in this interpreter. What it cannot show is the boundary itself."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

SDK = Path(__file__).resolve().parent.parent
WIT = SDK.parent.parent / "wit"

INTERFACES = {"doc-hook": "doc-hooks", "extractor": "answer-extractor"}
_OURS = ("gage_sdk", "wit_world", "componentize_py_types", "plugin")


class Guest:
    """A plugin with its glue, imported anew; use it in a `with` statement."""

    def __init__(self, kind: str, source: str, imports: tuple[str, ...] = ()) -> None:
        program = shutil.which("componentize-py", path=_search_path())
        if program is None or sys.version_info < (3, 11):
            raise unittest.SkipTest("needs componentize-py on the path, and Python 3.11 or newer")
        self._program = program
        self.kind, self._source, self._imports = kind, source, imports

    def __enter__(self) -> "Guest":
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        wit = shutil.copytree(WIT, folder / "wit", ignore=shutil.ignore_patterns("*.md"))
        (wit / "build.wit").write_text(self._world())
        subprocess.run(
            [self._program, "-q", "-d", wit, "-w", "built", "bindings", folder], check=True
        )
        (folder / "plugin.py").write_text(self._source)
        self._path = [str(folder), str(SDK / "src")]
        sys.path[:0] = self._path
        _forget()
        module = self.kind.replace("-", "_")
        glue = importlib.import_module(f"gage_sdk.components.{module}")
        interface = INTERFACES.get(self.kind, self.kind)
        self.exports: Any = getattr(glue, interface.title().replace("-", ""))()
        self.types: Any = importlib.import_module("wit_world.imports.types")
        name = interface.replace("-", "_")
        self.wit: Any = importlib.import_module(f"wit_world.exports.{name}")
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._path:
            sys.path.remove(folder)
        _forget()
        self._folder.cleanup()

    def _world(self) -> str:
        imports = "".join(f" import {name};" for name in ("log", *self._imports))
        interface = INTERFACES.get(self.kind, self.kind)
        return f"package gage:plugin@0.1.1;\nworld built {{{imports} export {interface}; }}\n"

    def value(self, value: Any) -> Any:
        """A value as the host hands it over."""
        types = self.types
        if value is None:
            return types.Value_Absent()
        if isinstance(value, bool):
            return types.Value_Boolean(value)
        if isinstance(value, (int, float)):
            return types.Value_Number(float(value))
        if isinstance(value, str):
            return types.Value_Text(value)
        return types.Value_Json(json.dumps(value))


def host_module(name: str) -> ModuleType:
    """The bindings of a host import, to put functions of a test in their place."""
    return importlib.import_module(f"wit_world.imports.{name}")


def _search_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _forget() -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in _OURS:
            del sys.modules[name]
