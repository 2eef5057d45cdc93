"""Values that cross between the interpreter of the tests and that of the candidate, as JSON.

Plain values are copied. Everything else stays where it is, and crosses as the number of a handle. The decoder never runs code
that the other side chose: it creates values of a fixed list of types.
"""

import array
import base64
import builtins
import collections
import datetime
import decimal
import fractions
import marshal
import types
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 80
"""Maximum nesting of a value that is copied."""

_MAX_JSON_INTEGER = 1 << 63

MUTABLE_TYPES = (
    list,
    dict,
    set,
    bytearray,
    array.array,
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
    collections.deque,
)
"""Types of values that a function may change in place."""

_NAMED_TYPES = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and value not in (type, super, classmethod, staticmethod, property)
}
_TYPE_NAMES = {value: name for name, value in _NAMED_TYPES.items()}
_BUILTIN_FUNCTIONS = ("abs", "all", "any", "chr", "divmod", "hash", "hex", "len", "max", "min", "oct", "ord", "pow", "repr")
_BUILTIN_FUNCTIONS += ("round", "sorted", "sum")


class TooDeep(ValueError):
    """A value is nested too deeply, or contains itself."""


def encode(value: Any, keep: Callable[[Any], Any], depth: int = 0) -> Any:
    """Returns the JSON form of a value. `keep` returns that of a value that cannot be copied."""
    kind = type(value)
    if value is None or kind is bool or kind is str or kind is float:
        return value
    if kind is int:
        return value if -_MAX_JSON_INTEGER < value < _MAX_JSON_INTEGER else ["int", hex(value)]
    if depth > MAX_DEPTH:
        raise TooDeep(f"a value is nested more than {MAX_DEPTH} levels deep")
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value, lambda part: encode(part, keep, depth + 1))
    for base, plain in _PLAIN_BASES:
        if issubclass(kind, base):
            return _subclass(value, base, plain, keep, depth)
    if isinstance(value, type) and value in _TYPE_NAMES:
        return ["type", _TYPE_NAMES[value]]
    return keep(value)


def _subclass(value: Any, base: type, plain: Callable[[Any], Any], keep: Callable[[Any], Any], depth: int) -> Any:
    """Returns the contents of an instance of a derived class, without what the class adds."""
    fields = getattr(type(value), "_fields", None)
    if base is tuple and type(fields) is tuple and all(type(one) is str for one in fields):
        parts = [encode(part, keep, depth + 1) for part in plain(value)]
        return ["named", type(value).__name__, list(fields), parts]
    return encode(plain(value), keep, depth + 1)


def _sequence(tag: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
    return lambda value, part: [tag, [part(one) for one in value]]


def _pairs(tag: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
    return lambda value, part: [tag, [[part(key), part(one)] for key, one in value.items()]]


def _items(value: Any, part: Callable[[Any], Any]) -> Any:
    return ["items", [[part(key), part(one)] for key, one in value]]


_MAPPINGS: tuple[dict[Any, Any], ...] = ({}, collections.OrderedDict())
"""Mappings whose views have types of their own."""

_WRITERS: dict[type, Callable[[Any, Callable[[Any], Any]], Any]] = {
    list: _sequence("list"),
    tuple: _sequence("tuple"),
    set: _sequence("set"),
    frozenset: _sequence("frozenset"),
    dict: _pairs("dict"),
    collections.OrderedDict: _pairs("ordered"),
    collections.Counter: _pairs("counter"),
    collections.defaultdict: lambda value, part: [*_pairs("default")(value, part), part(value.default_factory)],
    collections.deque: lambda value, part: ["deque", [part(one) for one in value], value.maxlen],
    **{type(one.keys()): _sequence("keys") for one in _MAPPINGS},
    **{type(one.values()): _sequence("values") for one in _MAPPINGS},
    **{type(one.items()): _items for one in _MAPPINGS},
    array.array: lambda value, part: ["array", value.typecode, [part(one) for one in value]],
    bytes: lambda value, part: ["bytes", value.hex()],
    bytearray: lambda value, part: ["bytearray", value.hex()],
    complex: lambda value, part: ["complex", value.real, value.imag],
    range: lambda value, part: ["range", part(value.start), part(value.stop), part(value.step)],
    decimal.Decimal: lambda value, part: ["decimal", str(value)],
    fractions.Fraction: lambda value, part: ["fraction", part(value.numerator), part(value.denominator)],
    datetime.date: lambda value, part: ["date", value.isoformat()],
    datetime.time: lambda value, part: ["time", value.isoformat()],
    datetime.datetime: lambda value, part: ["datetime", value.isoformat()],
    datetime.timedelta: lambda value, part: ["timedelta", value.days, value.seconds, value.microseconds],
    type(...): lambda value, part: ["ellipsis"],
}

_PLAIN_BASES: list[tuple[type, Callable[[Any], Any]]] = [
    (int, int.__index__),
    (float, float.__float__),
    (str, str.__str__),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
]


def decode(form: Any, kept: Callable[[Any], Any]) -> Any:
    """Returns the value of a JSON form. `kept` returns the value of a form that `keep` made."""
    if type(form) is not list:
        if form is None or type(form) in (bool, str, float, int):
            return form
        raise ValueError("a value has an unknown form")
    reader = _READERS.get(form[0])
    if reader is None:
        return kept(form)
    return reader(*form[1:], lambda part: decode(part, kept))


def _named(name: str, fields: list[str], parts: list[Any], part: Callable[[Any], Any]) -> Any:
    values = [part(one) for one in parts]
    try:
        return collections.namedtuple(name, fields)(*values)
    except (TypeError, ValueError):
        return tuple(values)


_READERS: dict[str, Callable[..., Any]] = {
    "int": lambda text, part: int(text, 16),
    "list": lambda parts, part: [part(one) for one in parts],
    "tuple": lambda parts, part: tuple([part(one) for one in parts]),
    "set": lambda parts, part: {part(one) for one in parts},
    "frozenset": lambda parts, part: frozenset([part(one) for one in parts]),
    "dict": lambda pairs, part: {part(key): part(one) for key, one in pairs},
    "ordered": lambda pairs, part: collections.OrderedDict((part(key), part(one)) for key, one in pairs),
    "counter": lambda pairs, part: collections.Counter({part(key): part(one) for key, one in pairs}),
    "default": lambda pairs, factory, part: collections.defaultdict(
        part(factory), {part(key): part(one) for key, one in pairs}
    ),
    "keys": lambda parts, part: {part(one): None for one in parts}.keys(),
    "values": lambda parts, part: dict(enumerate([part(one) for one in parts])).values(),
    "items": lambda pairs, part: {part(key): part(one) for key, one in pairs}.items(),
    "array": lambda code, parts, part: array.array(code, [part(one) for one in parts]),
    "deque": lambda parts, most, part: collections.deque([part(one) for one in parts], most),
    "bytes": lambda text, part: bytes.fromhex(text),
    "bytearray": lambda text, part: bytearray.fromhex(text),
    "complex": lambda real, imaginary, part: complex(real, imaginary),
    "range": lambda start, stop, step, part: range(part(start), part(stop), part(step)),
    "decimal": lambda text, part: decimal.Decimal(text),
    "fraction": lambda over, under, part: fractions.Fraction(part(over), part(under)),
    "date": lambda text, part: datetime.date.fromisoformat(text),
    "time": lambda text, part: datetime.time.fromisoformat(text),
    "datetime": lambda text, part: datetime.datetime.fromisoformat(text),
    "timedelta": lambda days, seconds, microseconds, part: datetime.timedelta(days, seconds, microseconds),
    "ellipsis": lambda part: ...,
    "type": lambda name, part: _NAMED_TYPES[name],
    "named": _named,
}


def function_form(function: Any, part: Callable[[Any], Any]) -> Any:
    """Returns the form of a function of the tests that a candidate gets as an argument: its code, and the values it refers to.

    Raises TypeError if it is not a function in Python or a common built-in one.
    """
    name = getattr(function, "__name__", "")
    if isinstance(function, types.BuiltinFunctionType) and function is getattr(builtins, name, None):
        if name in _BUILTIN_FUNCTIONS:
            return ["builtin", name]
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"a {type(function).__name__} of the tests cannot be passed to the candidate")
    code, space = function.__code__, function.__globals__
    used = {name: part(space[name]) for name in _names_of(code) if name in space and space[name] is not function}
    cells = [part(cell.cell_contents) for cell in function.__closure__ or ()]
    defaults = [part(one) for one in function.__defaults__ or ()]
    return ["function", base64.b64encode(marshal.dumps(code)).decode(), used, cells, defaults, name]


def function_of(form: list[Any], part: Callable[[Any], Any]) -> Any:
    """Returns the function of a form. Only the candidate's interpreter does this, for functions of the tests."""
    if form[0] == "builtin":
        return getattr(builtins, form[1])
    _, code, used, cells, defaults, name = form
    space: dict[str, Any] = {"__builtins__": builtins, "__name__": "tests"}
    space.update({key: part(one) for key, one in used.items()})
    closure = tuple(types.CellType(part(one)) for one in cells)
    function = types.FunctionType(
        marshal.loads(base64.b64decode(code)), space, name, tuple(part(one) for one in defaults), closure
    )
    space.setdefault(name, function)
    return function


def _names_of(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names
