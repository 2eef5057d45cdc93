"""Runs the metrics of plugin.py in this interpreter, for `gage-host plugin test --native`.

The host sends one JSON object a line on the standard input, and gets one reply to each. Lines that the
author's code prints precede the reply. The code of a component does the work, with stand-ins for the
modules that only a component has.
"""

import importlib
import importlib.machinery
import io
import json
import math
import os
import signal
import sys
import sysconfig
import traceback
from enum import Enum
from types import ModuleType
from typing import Any

_MIN_PYTHON = (3, 10)

_SIGNAL_AT_PARENT_DEATH = 1
"""The option PR_SET_PDEATHSIG of Linux's prctl."""

_RECORDS = {
    "PluginInfo": "name version description extra",
    "MemberSpec": "name description version params_schema",
    "PluginError": "kind message pointer retryable",
    "InputSpec": "name path_params default_paths kind",
    "Item": "sample_id inputs",
    "SubScore": "name value",
    "ScoreCard": "primary_score pass_ sub_scores error_tags explain detail",
    "Value_Absent": "",
    "Value_Text": "value",
    "Value_Number": "value",
    "Value_Boolean": "value",
    "Value_Texts": "value",
    "Value_Json": "value",
}

_ENUMS = {
    "ErrorKind": "INVALID_CONFIG INVALID_INPUT MISSING_FIELD UNSUPPORTED DENIED LIMIT_EXCEEDED "
    "UPSTREAM INTERNAL",
    "ValueKind": "ANY TEXT NUMBER TEXTS JSON",
    "MediaKind": "IMAGE AUDIO VIDEO FILE",
    "Role": "SYSTEM USER ASSISTANT TOOL",
    "FinishReason": "STOP LENGTH TOOL_CALLS CONTENT_FILTER OTHER",
}

_METRIC_RECORDS = {
    "MetricSpec": "name description scorer_version inputs values default_aggregation params_schema",
    "ValueSpec": "name higher_is_better minimum maximum",
}


class _Ok:
    def __init__(self, value: Any) -> None:
        self.value = value


class _Err(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class _Channel:
    """The connection to the host."""

    def __init__(self) -> None:
        self._replies = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        self.requests = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
        # What native code prints must not look like a reply, and nothing may read the requests.
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def send(self, message: dict[str, Any]) -> None:
        self._replies.write(json.dumps(message, allow_nan=False) + "\n")
        self._replies.flush()

    def line(self, source: str, text: str) -> None:
        self.send({"line": {"source": source, "text": text}})


class _Lines(io.TextIOBase):
    """A standard stream whose lines go to the host."""

    def __init__(self, channel: _Channel, source: str) -> None:
        self._channel, self._source, self._unfinished = channel, source, ""
        self.buffer = os.fdopen(os.dup(1), "wb", 0)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._channel.line(self._source, line)
        return len(text)

    def end_line(self) -> None:
        if self._unfinished:
            self._channel.line(self._source, self._unfinished)
            self._unfinished = ""


def _record(name: str, fields: str) -> type:
    names = fields.split()

    def __init__(self: Any, *values: Any) -> None:
        for key, value in zip(names, values, strict=True):
            setattr(self, key, value)

    return type(name, (), {"__init__": __init__})


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)
    return module


def _install_bindings(channel: _Channel) -> None:
    """Adds the modules that componentize-py generates inside a component."""
    from .errors import PluginError

    def refuse(*_: object) -> None:
        raise PluginError("unsupported", "there are no media with --native; build the component")

    def emit(level: Enum, message: str) -> None:
        channel.line(level.name.lower(), message)

    types: dict[str, Any] = {name: _record(name, fields) for name, fields in _RECORDS.items()}
    types.update({name: Enum(name, cases) for name, cases in _ENUMS.items()})
    metric = {name: _record(name, fields) for name, fields in _METRIC_RECORDS.items()}
    _module("componentize_py_types", {"Ok": _Ok, "Err": _Err})
    _module("wit_world", {})
    _module("wit_world.imports", {})
    _module("wit_world.imports.types", types)
    log = {
        "Level": Enum("Level", "DEBUG INFO WARN ERROR"),
        "emit": emit,
        "enabled": lambda _level: True,
    }
    _module("wit_world.imports.log", log)
    _module("wit_world.imports.media", {"find": refuse, "read": refuse})
    _module("wit_world.exports", {})
    _module("wit_world.exports.metric", metric)


def _number(value: float | None) -> float | str | None:
    """Returns a number for JSON, which has none for infinity."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _error(error: Any) -> dict[str, Any]:
    kind = error.kind.name.lower()
    return {"error": {"kind": kind, "message": error.message, "pointer": error.pointer}}


def _declaration(spec: Any) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "version": spec.scorer_version,
        "inputs": [
            {
                "name": one.name,
                "path_params": list(one.path_params),
                "default_paths": list(one.default_paths),
                "kind": one.kind.name.lower(),
            }
            for one in spec.inputs
        ],
        "values": [
            {
                "name": one.name,
                "higher_is_better": one.higher_is_better,
                "minimum": one.minimum,
                "maximum": one.maximum,
            }
            for one in spec.values
        ],
        "default_aggregation": spec.default_aggregation,
        "params_schema": spec.params_schema,
    }


def _result(outcome: Any) -> dict[str, Any]:
    if isinstance(outcome, _Err):
        return _error(outcome.value)
    card = outcome.value
    return {
        "ok": {
            "primary_score": _number(card.primary_score),
            "pass": card.pass_,
            "sub_scores": [
                {"name": one.name, "value": _number(one.value)} for one in card.sub_scores
            ],
            "error_tags": card.error_tags,
            "explain": card.explain,
            "detail": card.detail,
        }
    }


class _Metrics:
    """The metrics of plugin.py, behind the interface of a component."""

    def __init__(self) -> None:
        before = set(sys.modules)
        glue = importlib.import_module("gage_sdk.components.metric")
        self._exports = glue.Metric()
        self._types = sys.modules["wit_world.imports.types"]
        self._imported = set(sys.modules) - before

    def describe(self) -> dict[str, Any]:
        metrics = [_declaration(spec) for spec in self._exports.metrics()]
        native, outside = _foreign_packages(self._imported)
        return {"metrics": metrics, "native_packages": native, "outside_packages": outside}

    def check(self, member: str, params: str) -> dict[str, Any]:
        try:
            self._exports.check(member, params)
        except _Err as error:
            return _error(error.value)
        return {"ok": None}

    def score(self, member: str, params: str, items: list[Any]) -> list[dict[str, Any]]:
        read = [self._item(item) for item in items]
        return [_result(outcome) for outcome in self._exports.score(member, params, read)]

    def _item(self, item: dict[str, Any]) -> Any:
        return self._types.Item(item["sample_id"], list(map(self._value, item["inputs"])))

    def _value(self, value: dict[str, Any]) -> Any:
        made = getattr(self._types, f"Value_{value['tag'].title()}")
        return made(value["val"]) if "val" in value else made()


def _foreign_packages(names: set[str]) -> tuple[list[str], list[str]]:
    """Returns the imported packages with native code, and those that are outside of the project."""
    paths = sysconfig.get_paths()
    sites = tuple({paths["purelib"] + os.sep, paths["platlib"] + os.sep})
    standard = tuple({paths["stdlib"] + os.sep, paths["platstdlib"] + os.sep})
    # The host sets the path to the SDK and the packages of the project.
    folders = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    ours = tuple(folder + os.sep for folder in folders if folder)
    native, outside = set(), set()
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(file, str):
            continue
        is_ours = file.startswith(ours)
        if not is_ours and file.startswith(standard) and not file.startswith(sites):
            continue
        package = name.partition(".")[0]
        if file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            native.add(package)
        elif not is_ours and package != "gage_sdk":
            outside.add(package)
    return sorted(native), sorted(outside - native)


def _load(channel: _Channel) -> _Metrics | None:
    try:
        return _Metrics()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # From the author's first file on.
        own, frame = os.getcwd() + os.sep, error.__traceback__
        first = frame
        while first is not None:
            file = first.tb_frame.f_code.co_filename
            if file.startswith(own) and not file.startswith(own + "gage" + os.sep):
                break
            first = first.tb_next
        text = "".join(traceback.format_exception(type(error), error, first))
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        channel.send({"failure": text.rstrip(), "missing_module": missing})
        return None


def _serve(channel: _Channel) -> None:
    streams = [_Lines(channel, "stdout"), _Lines(channel, "stderr")]
    sys.stdout, sys.stderr = streams
    _install_bindings(channel)
    metrics = _load(channel)
    if metrics is None:
        return
    for line in channel.requests:
        request = json.loads(line)
        reply = getattr(metrics, request.pop("call"))(**request)
        for stream in streams:
            stream.end_line()
        channel.send({"reply": reply})


def _main() -> None:
    if sys.version_info < _MIN_PYTHON:
        version = ".".join(map(str, sys.version_info[:2]))
        sys.exit(f"Python {version} is too old; the SDK needs {'.'.join(map(str, _MIN_PYTHON))}")
    _end_with_host()
    _serve(_Channel())


def _end_with_host() -> None:
    """Lets the system end this process when gage-host is killed, even in an endless loop."""
    if sys.platform != "linux":
        return
    try:
        import ctypes
    except ImportError:  # Some builds of Python lack it.
        return
    ctypes.CDLL(None).prctl(_SIGNAL_AT_PARENT_DEATH, signal.SIGKILL)


if __name__ == "__main__":
    _main()
