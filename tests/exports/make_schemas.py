"""Writes what the formats' own packages say of their files as JSON Schemas, which the tests of host/export use.

    python make_schemas.py ../../host/export/tests/fixtures

Needs the packages of requirements.txt; run it again when their versions change, and look at the difference.
"""

import dataclasses
import importlib.resources
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog
from pydantic import TypeAdapter
from typing_extensions import TypedDict


def without_prose(value):
    """A schema without what is for people, and without defaults."""
    if isinstance(value, dict):
        names = "properties" in value and isinstance(value["properties"], dict)
        kept = {}
        for key, inner in value.items():
            if key in ("description", "title", "default", "examples", "discriminator", "version") and not isinstance(inner, dict):
                continue
            if key in ("default", "examples", "discriminator"):
                continue
            if key == "properties" and names:
                kept[key] = {name: without_prose(schema) for name, schema in inner.items()}
            else:
                kept[key] = without_prose(inner)
        return kept
    if isinstance(value, list):
        return [without_prose(inner) for inner in value]
    return value


def reachable(schema):
    """A schema with the definitions that it uses."""
    definitions = schema.get("$defs", {})
    used, waiting = set(), [{key: value for key, value in schema.items() if key != "$defs"}]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = value.get("$ref", "").rpartition("/")[2]
            if name in definitions and name not in used:
                used.add(name)
                waiting.append(definitions[name])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return {**schema, "$defs": {name: definitions[name] for name in sorted(used)}}


def inspect_schema():
    schema = EvalLog.model_json_schema()
    # What gage-host never writes, and what makes most of the schema.
    for name in ("events", "timelines", "events_data"):
        schema["$defs"]["EvalSample"]["properties"].pop(name, None)
    for name in ("log_updates", "config_updates"):
        schema["properties"].pop(name, None)
    return reachable(schema)


def lm_eval_module(path):
    """A module of lm_eval without the package around it, which needs much more."""
    found = importlib.util.find_spec("lm_eval")
    path = Path(found.submodule_search_locations[0]) / path
    spec = importlib.util.spec_from_file_location(f"alone_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def task_config_schema():
    """What TaskConfig.to_dict writes: nothing that is None, functions as their source."""
    module = lm_eval_module("config/task.py")
    known = {"Any": Any, "Callable": str, "FewshotConfig": dict, "OutputType": lm_eval_module("api/instance.py").OutputType}
    types = {}
    for field in dataclasses.fields(module.TaskConfig):
        of_function = re.sub(r"Callable\[.*?\]\]?", "str", field.type)
        types[field.name] = eval(of_function, known)
    closed = TypedDict("TaskConfig", types, total=False)
    closed.__pydantic_config__ = {"extra": "forbid"}
    return without_null(TypeAdapter(closed).json_schema())


def without_null(schema):
    for name, value in schema["properties"].items():
        kinds = [kind for kind in value.get("anyOf", []) if kind != {"type": "null"}]
        if kinds:
            schema["properties"][name] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return schema


def lm_eval_schemas():
    module = lm_eval_module("result_schema.py")
    yield "TaskConfig", task_config_schema()
    for name in ("SampleResult", "EvalResults"):
        adapter = TypeAdapter(getattr(module, name))
        adapter.rebuild(raise_errors=False, _types_namespace=vars(module))
        yield name, adapter.json_schema()


def every_eval_ever_schemas():
    folder = importlib.resources.files("every_eval_ever.schemas")
    for name in ("eval", "instance_level_eval"):
        yield name, json.loads((folder / f"{name}.schema.json").read_text())


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    schemas = {"inspect": inspect_schema()}
    schemas |= {f"every_eval_ever.{name}": schema for name, schema in every_eval_ever_schemas()}
    schemas |= {f"lm_eval.{name}": schema for name, schema in lm_eval_schemas()}
    for name, schema in schemas.items():
        text = json.dumps(without_prose(schema), indent=1, sort_keys=True)
        (folder / f"{name}.schema.json").write_text(text + "\n")


main()
