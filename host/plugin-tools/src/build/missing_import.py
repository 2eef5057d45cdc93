"""Prints the first import of a plugin that no component can have, as JSON: its file, line and module.

The arguments are the folders of a component's modules. The first one is that of the project. Only imports that run whenever
the plugin is loaded are looked at: those on the first level of `plugin.py` and of the modules beside it.
"""

import ast
import json
import os
import sys

# Modules of Python in components that an older Python here may lack.
NEWER_MODULES = {"annotationlib", "compression", "tomllib"}

# Modules that componentize-py makes, by the beginning of their names.
GENERATED_MODULES = ("__main__", "componentize_py_", "wit_world")

# A source with one of these may make modules known by itself.
IMPORT_SYSTEM = ("importlib", "sys.meta_path", "sys.modules", "sys.path")


def imported_names(statement):
    """Returns the first part of the name of each module that a statement imports."""
    if isinstance(statement, ast.Import):
        return [alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ImportFrom) and statement.level == 0:
        return [(statement.module or "").partition(".")[0]]
    return []


def is_in_library(name):
    return (
        name in sys.stdlib_module_names or name in NEWER_MODULES or name.startswith(GENERATED_MODULES)
    )


def is_in_folder(folder, name):
    return any(os.path.exists(os.path.join(folder, name + ending)) for ending in ("", ".py"))


def missing_import(folders):
    waiting, known = ["plugin"], {"plugin"}
    while waiting:
        path = os.path.join(folders[0], waiting.pop() + ".py")
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        if any(part in text for part in IMPORT_SYSTEM):
            return None
        for statement in ast.parse(text).body:
            for name in imported_names(statement):
                if name in known or is_in_library(name):
                    continue
                if not any(is_in_folder(folder, name) for folder in folders):
                    return {"file": os.path.basename(path), "line": statement.lineno, "module": name}
                known.add(name)
                waiting.append(name)
    return None


print(json.dumps(missing_import(sys.argv[1:])))
