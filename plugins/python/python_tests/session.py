"""The tests' side of the border: objects that stand for those of the candidate, and the requests that they send.

A comparison of an object of the candidate with a value of the tests is false or an error, and never asks the candidate: it
could say that it equals anything. The same holds for arithmetic and for `in`. The candidate is asked if both are its objects.
"""

import builtins
import collections
import json
import types
from collections.abc import Callable, Iterator
from typing import Any

import codec

MAX_NAME_CHARS = 200
"""Maximum length of the name of a class of the candidate, and of the argument of `exit`."""
MAX_MESSAGE_CHARS = 500
"""Maximum length of the message of an exception of the candidate, as `candidate.py` cuts it."""
MAX_LINE = 10_000_000
"""Greatest number of a line of the program that is reported."""

_NO_REPLY = "it sent something that is not a reply"


class CandidateEnded(BaseException):
    """The candidate ended its interpreter, or sent something that is not a reply. The tests cannot go on."""


class Session:
    """A candidate that is loaded."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask
        self.uses = 0
        """Number of operations on the candidate's objects, and of its plain values that were read."""
        self.looks = 0
        """Number of comparisons of the candidate's objects that it was not asked about."""
        self.ended: str | None = None
        """Reason why the candidate ended, if it did."""
        self.raised: list[BaseException] = []
        """Exceptions of the candidate, as raised in the tests."""

    def load(self, program: str) -> list[str]:
        """Runs the program, and returns the names that it defines."""
        names = self._request({"do": "load", "program": program}).get("names")
        return [name for name in names if type(name) is str] if type(names) is list else []

    def named(self, name: str) -> Any:
        """Returns what stands for a global name of the candidate."""
        value = self._value(self._request({"do": "name", "name": name}))
        if isinstance(value, type):
            # A call of it would run in this interpreter.
            raise self._end("it sent a value of an unknown form")
        self.uses += not isinstance(value, Foreign)
        return value

    def apply(self, target: int, operation: str, arguments: Any = (), named: Any = types.MappingProxyType({})) -> Any:
        """Applies an operation to an object of the candidate."""
        self.uses += 1
        request = {
            "do": "apply",
            "target": target,
            "operation": operation,
            "arguments": [self._form(one) for one in arguments],
            "named": {key: self._form(one) for key, one in named.items()},
        }
        reply = self._request(request)
        changed = reply.get("changed")
        if type(changed) is dict:
            self._change(arguments, changed)
        return self._value(reply)

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.ended is not None:
            raise CandidateEnded(self.ended)
        text = self._ask(json.dumps(request))
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            raise self._end(_NO_REPLY) from None
        if type(reply) is not dict:
            raise self._end(_NO_REPLY)
        if "exit" in reply:
            raise self._end(f"it called exit({_short_text(reply['exit'], MAX_NAME_CHARS)})")
        if "raised" in reply:
            raise self._exception(reply["raised"])
        return reply

    def _end(self, reason: str) -> CandidateEnded:
        self.ended = reason
        return CandidateEnded(reason)

    def _exception(self, described: Any) -> BaseException:
        """Creates an exception like that of the candidate, of the nearest built-in class."""
        if type(described) is not dict or type(described.get("bases")) is not list:
            return self._end(_NO_REPLY)
        name = _short_text(described.get("type"), MAX_NAME_CHARS)
        kind: type[BaseException] = Exception
        for base in described["bases"]:
            found = getattr(builtins, base, None) if type(base) is str else None
            is_exception = isinstance(found, type) and issubclass(found, Exception)
            # A group cannot be made from a text.
            if is_exception and not issubclass(found, ExceptionGroup):
                # `map`, `zip` and `filter` of the tests would take StopIteration for the end of their items.
                kind = RuntimeError if issubclass(found, StopIteration) else found
                break
        else:
            return self._end(f"it raised {name}")
        own = type(name, (kind,), {"__init__": Exception.__init__, "__str__": Exception.__str__})
        error: BaseException = own(_short_text(described.get("message"), MAX_MESSAGE_CHARS))
        line = described.get("line")
        is_line = type(line) is int and 0 < line <= MAX_LINE
        error.candidate_line = line if is_line else None  # type: ignore[attr-defined]
        self.raised.append(error)
        return error

    def _value(self, reply: dict[str, Any]) -> Any:
        return codec.decode(reply["value"], self._of_form)

    def _form(self, value: Any) -> Any:
        return codec.encode(value, self._keep)

    def _keep(self, value: Any) -> Any:
        if isinstance(value, Foreign):
            return ["kept", object.__getattribute__(value, "_place"), ""]
        if isinstance(value, Iterator):
            return self._form(list(value))
        return codec.function_form(value, self._form)

    def _of_form(self, form: Any) -> Any:
        if form[0] != "kept" or type(form[1]) is not int:
            raise self._end("it sent a value of an unknown form")
        return Foreign(self, form[1], _short_text(form[2], MAX_NAME_CHARS))

    def _change(self, arguments: Any, changed: dict[str, Any]) -> None:
        """Repeats what the candidate did to the containers that it got."""
        for place, form in changed.items():
            old, new = arguments[int(place)], codec.decode(form, self._of_form)
            if type(old) not in codec.MUTABLE_TYPES or type(new) is not type(old):
                continue
            if isinstance(old, (dict, set)):
                old.clear()
                old.update(new)
            elif isinstance(old, collections.deque):
                old.clear()
                old.extend(new)
            else:
                old[:] = new


def _short_text(value: Any, most: int) -> str:
    """Returns a text of the candidate, shortened; an empty one if the value is not a text.

    It is part of score cards and names of classes, so it has neither lone surrogates nor zero characters.
    """
    if type(value) is not str:
        return ""
    return value[:most].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


class Foreign:
    """An object of the candidate."""

    def __init__(self, session: Session, place: int, kind: str) -> None:
        object.__setattr__(self, "_session", session)
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_kind", kind)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _ask(self, "call", arguments, named)

    def __getattr__(self, name: str) -> Any:
        return _ask(self, "attribute", [name])

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "set", [name, value])

    def __getitem__(self, key: Any) -> Any:
        return _ask(self, "item", [key])

    def __setitem__(self, key: Any, value: Any) -> None:
        _ask(self, "operator", ["setitem", key, value])

    def __delitem__(self, key: Any) -> None:
        _ask(self, "operator", ["delitem", key])

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, Foreign):
            return _ask(self, "compare", ["contains", item]) is True
        return any(item is one or item == one for one in self)

    def __enter__(self) -> Any:
        return _ask(self, "attribute", ["__enter__"])()

    def __exit__(self, *_: object) -> None:
        """Leaves the context as after a success: it could hide an assertion that failed."""
        _ask(self, "attribute", ["__exit__"])(None, None, None)

    def __len__(self) -> int:
        return int(_ask(self, "length"))

    def __bool__(self) -> bool:
        return _ask(self, "truth") is True

    def __str__(self) -> str:
        return str(_ask(self, "text"))

    def __repr__(self) -> str:
        return str(_ask(self, "representation"))

    def __iter__(self) -> Iterator[Any]:
        iteration = _ask(self, "iterate")
        while taken := _ask(iteration, "next"):
            yield taken[0]

    def __next__(self) -> Any:
        for value in self:
            return value
        raise StopIteration

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Foreign):
            return _ask(self, "compare", ["eq", other]) is True
        object.__getattribute__(self, "_session").looks += 1
        return False

    def __hash__(self) -> int:
        """Returns the hash of the candidate's object, so that its equal objects are one key.

        The hash alone makes nothing equal: sets and dictionaries also ask `__eq__`.
        """
        return _ask(self, "hash")

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Foreign) and _ask(self, "instance", [instance]) is True


def _ask(foreign: Foreign, operation: str, arguments: Any = (), named: Any = types.MappingProxyType({})) -> Any:
    session: Session = object.__getattribute__(foreign, "_session")
    return session.apply(object.__getattribute__(foreign, "_place"), operation, arguments, named)


def _refused(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: Any) -> Any:
        kind = object.__getattribute__(self, "_kind")
        raise TypeError(f"the candidate's {kind} is not a plain value, so tests cannot use {name} on it")

    return refuse


def _among_objects(name: str, ask: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Returns an operator of two objects of the candidate."""
    refuse = _refused(name)
    return lambda self, other: ask(self, other) if isinstance(other, Foreign) else refuse(self)


def _define_operators() -> None:
    def compared(name: str) -> Callable[[Any, Any], Any]:
        return lambda self, other: _ask(self, "compare", [name, other]) is True

    def computed(name: str) -> Callable[[Any, Any], Any]:
        return lambda self, other: _ask(self, "operator", [f"__{name}__", other])

    for name in ("lt", "le", "gt", "ge"):
        setattr(Foreign, f"__{name}__", _among_objects(name, compared(name)))
    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split():
        setattr(Foreign, f"__{name}__", _among_objects(name, computed(name)))
        setattr(Foreign, f"__i{name}__", _among_objects(f"i{name}", computed(f"i{name}")))
        setattr(Foreign, f"__r{name}__", _refused(f"r{name}"))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Foreign, f"__{name}__", lambda self, name=name: _ask(self, "operator", [name]))
    for name in "divmod rdivmod round int float complex index trunc floor ceil".split():
        setattr(Foreign, f"__{name}__", _refused(name))


_define_operators()
