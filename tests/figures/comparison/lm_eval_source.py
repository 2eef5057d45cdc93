"""Functions of lm-evaluation-harness, taken from its installed source.

The package needs PyTorch and other large packages to be imported as a whole. So single functions are compiled from its
files. Filters and aggregations can be imported as they are.
"""

import ast
import importlib.util
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import yaml


def path(name):
    """Returns the path of a file of the package."""
    return Path(importlib.util.find_spec("lm_eval").origin).parent / name


def functions(name, wanted, **others):
    """Compiles functions and methods of a file, without decorators. `others` are further names that they use."""
    tree = ast.parse(path(name).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in wanted]
    # Of methods with one name, the one of the class that YAML tasks use is the longest.
    by_name = {}
    for node in found:
        known = by_name.get(node.name)
        if known is None or node.end_lineno - node.lineno > known.end_lineno - known.lineno:
            by_name[node.name] = node
    missing = set(wanted) - set(by_name)
    if missing:
        raise LookupError(f"lm-evaluation-harness has no {', '.join(sorted(missing))} in {name}")
    body = [ast.ImportFrom("__future__", [ast.alias("annotations")], 0), *by_name.values()]
    for node in by_name.values():
        node.decorator_list = []
    module = ast.fix_missing_locations(ast.Module(body, []))
    names = {"re": re, "np": np, "math": math, **others}
    exec(compile(module, name, "exec"), names)
    return SimpleNamespace(**{each: names[each] for each in wanted})


class Task:
    """A task of lm-evaluation-harness, as far as its scores of one document need it."""

    def __init__(self, output_type, metrics):
        softmax = functions("utils.py", ["softmax"])
        wanted = ["process_results", "count_words", "count_bytes"]
        self.functions = functions("api/task.py", wanted, utils=softmax, callable=callable)
        self.OUTPUT_TYPE = output_type
        self._metric_fn_list = dict.fromkeys(metrics)
        self.config = SimpleNamespace(process_results=None, doc_to_choice=None)
        self.multiple_input = self.multiple_target = False

    def count_words(self, document):
        """Returns the number of words."""
        return self.functions.count_words(None, document)

    def count_bytes(self, document):
        """Returns the number of bytes."""
        return self.functions.count_bytes(None, document)

    def doc_to_choice(self, document):
        """Returns the options of a document."""
        return document["choices"]

    def doc_to_target(self, document):
        """Returns the number of the right option, or the text whose likelihood is measured."""
        return document["target"]

    def scores(self, document, results):
        """Returns the scores of a document, from the log-likelihoods."""
        return self.functions.process_results(self, document, results)


class Loader(yaml.SafeLoader):
    """Reads the files of tasks, and ignores the functions that they name."""


Loader.add_constructor("!function", lambda loader, node: None)


def task_file(name):
    """Returns the contents of the YAML file of a task."""
    return yaml.load(path(f"tasks/{name}").read_text(encoding="utf-8"), Loader)
