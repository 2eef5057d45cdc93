"""The standard library in the memory of the component, which has no files when it runs."""

import ast
import importlib
import importlib.abc
import importlib.machinery
import marshal
import os
import sys
import zlib
from typing import Any

_SKIPPED = ("__pycache__", "site-packages", "test", "tests", "idlelib", "turtledemo", "config-3.14-wasm32-wasi")

LOADED = (
    "abc argparse array ast base64 binascii bisect builtins calendar cmath codecs collections collections.abc colorsys "
    "contextlib contextvars copy csv dataclasses datetime decimal difflib enum fractions functools gc hashlib heapq html inspect "
    "io ipaddress itertools json keyword linecache locale logging math numbers operator os pathlib pickle pprint queue random re "
    "secrets shlex statistics string struct sys textwrap threading time timeit traceback types typing unicodedata unittest "
    "unittest.mock uuid warnings weakref xml.etree.ElementTree zlib "
    "encodings.ascii encodings.latin_1 encodings.utf_16 encodings.utf_32 encodings.cp1252 encodings.idna"
).split()
"""Modules that are imported while the component is built. The others are imported when a program needs them."""

_code: dict[str, tuple[bool, bytes]] = {}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the library."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        found = _code.get(name)
        if found is None:
            return None
        file = _file_of(name, found[0])
        spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=found[0])
        spec.has_location = True
        return spec

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(marshal.loads(zlib.decompress(_code[module.__spec__.name][1])), module.__dict__)


def _file_of(name: str, is_package: bool) -> str:
    path = name.replace(".", "/")
    return f"/python/{path}/__init__.py" if is_package else f"/python/{path}.py"


def keep_library() -> None:
    """Keeps the code of each module of the standard library, and loads the usual ones."""
    if sys.platform != "wasi":
        return
    root = "/python"
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(one for one in folders if one not in _SKIPPED)
        for file in sorted(files):
            if file.endswith(".py"):
                _keep(root, os.path.join(folder, file))
    for name in LOADED:
        importlib.import_module(name)
    _use_python_cache()
    place = next((at for at, one in enumerate(sys.meta_path) if one is importlib.machinery.PathFinder), 0)
    sys.meta_path.insert(place, _Finder())


def _keep(root: str, path: str) -> None:
    parts = path[len(root) + 1 : -len(".py")].split("/")
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    _code[name] = (is_package, zlib.compress(marshal.dumps(code), 9))


def _use_python_cache() -> None:
    """Replaces the function behind `functools.lru_cache` by its variant in Python.

    A recursive function with the variant in C uses up the stack of the component after some 200 calls.
    """
    functools = importlib.import_module("functools")
    with open(functools.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    name = "_lru_cache_wrapper"
    tree.body = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
    exec(compile(tree, functools.__file__, "exec"), vars(functools))
