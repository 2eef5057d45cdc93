"""The candidate's interpreter: runs the program, and calls its functions when the tests ask.

Nothing here decides about the verdict, and the candidate can change all of it. It knows the arguments of the calls, but not
the tests.
"""

import builtins
import io
import json
import operator
import sys
import types
from typing import Any

import codec

_kept: list[Any] = []


class _Nowhere(io.RawIOBase):
    """A stream that forgets what is written to it."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def answer(request: str) -> str:
    """Serves a request of the tests, and returns the reply as JSON."""
    asked = json.loads(request)
    try:
        reply = _STEPS[asked["do"]](asked)
    except SystemExit as error:
        reply = {"exit": str(error.code)[:200]}
    except BaseException as error:
        reply = {"raised": _described(error)}
    return json.dumps(reply)


def _load(asked: dict[str, Any]) -> dict[str, Any]:
    """Runs the program as a module, without standard streams."""
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), "utf-8")
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), "utf-8")
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BytesIO(b""), "utf-8")
    # A function with a cache in Python uses two frames for a call.
    sys.setrecursionlimit(2 * sys.getrecursionlimit())
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    module.__dict__["__builtins__"] = builtins
    exec(compile(asked["program"], "candidate.py", "exec", dont_inherit=True), module.__dict__)
    return {"names": [name for name in module.__dict__ if not name.startswith("__")]}


def _name(asked: dict[str, Any]) -> dict[str, Any]:
    value = sys.modules["candidate"].__dict__[asked["name"]]
    return {"value": _keep(value) if callable(value) else _form(value)}


def _apply(asked: dict[str, Any]) -> dict[str, Any]:
    """Applies an operation to a kept object."""
    target = _kept[asked["target"]]
    arguments = [codec.decode(one, _of_form) for one in asked["arguments"]]
    named = {key: codec.decode(one, _of_form) for key, one in asked["named"].items()}
    result = _OPERATIONS[asked["operation"]](target, arguments, named)
    reply = {"value": _form(result)}
    if asked["operation"] == "call":
        changed = {}
        for place, (value, sent) in enumerate(zip(arguments, asked["arguments"])):
            if type(value) in codec.MUTABLE_TYPES:
                form = _form(value)
                if form != sent:
                    changed[str(place)] = form
        if changed:
            reply["changed"] = changed
    return reply


_OPERATIONS: dict[str, Any] = {
    "call": lambda target, arguments, named: target(*arguments, **named),
    "attribute": lambda target, arguments, named: getattr(target, arguments[0]),
    "set": lambda target, arguments, named: setattr(target, arguments[0], arguments[1]),
    "item": lambda target, arguments, named: target[arguments[0]],
    "hash": lambda target, arguments, named: hash(target),
    "length": lambda target, arguments, named: len(target),
    "truth": lambda target, arguments, named: bool(target),
    "text": lambda target, arguments, named: str(target),
    "representation": lambda target, arguments, named: repr(target),
    "iterate": lambda target, arguments, named: _Iteration(iter(target)),
    "next": lambda target, arguments, named: target.take(),
    "compare": lambda target, arguments, named: bool(getattr(operator, arguments[0])(target, arguments[1])),
    "operator": lambda target, arguments, named: getattr(operator, arguments[0])(target, *arguments[1:]),
    "instance": lambda target, arguments, named: isinstance(arguments[0], target),
}


class _Iteration:
    """An iterator whose end is a value."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def take(self) -> list[Any]:
        for value in self.source:
            return [value]
        return []


def _form(value: Any) -> Any:
    return codec.encode(value, _keep)


def _keep(value: Any) -> Any:
    _kept.append(value)
    return ["kept", len(_kept) - 1, type(value).__name__]


def _of_form(form: Any) -> Any:
    if form[0] == "kept":
        return _kept[form[1]]
    return codec.function_of(form, lambda part: codec.decode(part, _of_form))


def _described(error: BaseException) -> dict[str, Any]:
    """Returns what the tests learn about an exception."""
    bases = [one.__name__ for one in type(error).__mro__ if getattr(builtins, one.__name__, None) is one]
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == "candidate.py":
            line = step.tb_lineno
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename == "candidate.py":
        line = error.lineno
    try:
        text = str(error)
    except BaseException:
        text = ""
    return {"type": type(error).__name__, "bases": bases, "message": text[:500], "line": line}


_STEPS = {"load": _load, "name": _name, "apply": _apply}
