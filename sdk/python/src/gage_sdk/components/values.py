"""Declaration and conversion of the inputs of metrics and extractors."""

import json
from collections.abc import Callable
from typing import Any

from wit_world.imports import types

from ..inputs import ResolvedInput
from .bindings import VALUE_KINDS

_LARGEST_EXACT = 2.0**53


def _whole(value: Any) -> float:
    """Restores the JSON form of `any` numbers: 3 rather than 3.0."""
    number: float = value.value
    if number.is_integer() and abs(number) <= _LARGEST_EXACT:
        return int(number)
    return number


def _payload(value: Any) -> Any:
    return value.value


_READERS: dict[type, Callable[[Any], Any]] = {
    types.Value_Absent: lambda value: None,
    types.Value_Text: _payload,
    types.Value_Number: _whole,
    types.Value_Boolean: _payload,
    types.Value_Texts: _payload,
    types.Value_Json: lambda value: json.loads(value.value),
}
_NUMBER_READERS = {**_READERS, types.Value_Number: _payload}


def input_specs(inputs: list[ResolvedInput]) -> list[Any]:
    """Returns the inputs as declared in the contract."""
    return [
        types.InputSpec(one.name, one.path_params, one.paths, VALUE_KINDS[one.kind])
        for one in inputs
    ]


def item_reader(inputs: list[ResolvedInput]) -> Callable[[Any], list[Any]]:
    """Returns a function that converts an item to its plain values, in the order of the inputs."""
    tables = [_NUMBER_READERS if one.kind == "number" else _READERS for one in inputs]

    def read(item: Any) -> list[Any]:
        return [table[type(value)](value) for table, value in zip(tables, item.inputs)]

    return read
