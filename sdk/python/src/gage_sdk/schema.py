"""JSON Schema of params, derived from annotations and defaults."""

import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .json_text import encode

_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    list: {"type": "array"},
    dict: {"type": "object"},
    type(None): {"type": "null"},
}
_ALLOWED = "bool, int, float, str, list, dict, Literal, T | None, Annotated and Any"


def hints_of(function: Callable[..., object]) -> dict[str, Any]:
    """Returns the resolved annotations of a function, including `Annotated` metadata."""
    return get_type_hints(function, include_extras=True)


def schema_of_annotation(annotation: Any) -> dict[str, Any]:
    """Returns the JSON Schema of one annotation.

    `Annotated` extends it: a string is its description, a dict is merged in
    (`Annotated[int, "how many", {"minimum": 1}]`).
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = schema_of_annotation(arguments[0])
        for extra in arguments[1:]:
            schema.update({"description": extra} if isinstance(extra, str) else extra)
        return schema
    if annotation is Any or annotation is object:
        return {}
    if origin is None and annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _schema_of_union([schema_of_annotation(argument) for argument in arguments])
    if origin is list:
        return {"type": "array", "items": schema_of_annotation(arguments[0])}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": schema_of_annotation(arguments[1])}
    raise TypeError(f"no JSON Schema for the annotation {annotation}; allowed are {_ALLOWED}")


def _schema_of_union(members: list[dict[str, Any]]) -> dict[str, Any]:
    if all(list(member) == ["type"] for member in members):
        return {"type": [member["type"] for member in members]}
    return {"anyOf": members}


def schema_of_params(
    parameters: list[inspect.Parameter], hints: dict[str, Any]
) -> dict[str, Any]:
    """Returns the JSON Schema of an object; parameters without a default are required."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in parameters:
        schema = _schema_of_parameter(parameter, hints)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif _is_json(parameter.default):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _schema_of_parameter(parameter: inspect.Parameter, hints: dict[str, Any]) -> dict[str, Any]:
    if parameter.name in hints:
        try:
            return schema_of_annotation(hints[parameter.name])
        except TypeError as error:
            raise TypeError(
                f"param '{parameter.name}': {error}; or give the whole schema as params=…"
            ) from None
    # Without an annotation, the type follows from the default.
    default = parameter.default
    known = default is not None and default is not parameter.empty
    return dict(_PLAIN.get(type(default), {})) if known else {}


def _is_json(value: object) -> bool:
    try:
        encode(value)
    except (TypeError, ValueError):
        return False
    return True
