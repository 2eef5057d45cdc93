"""Inputs of metrics and extractors, which the host takes from a sample."""

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

ValueKind = Literal["any", "text", "number", "texts", "json"]
"""What the host turns a value into: `text` a str, `number` a float, `texts` a list of str, `json`
any JSON, `any` the value as it stands. A missing value is None whatever its kind."""

_KINDS: dict[Any, ValueKind] = {
    str: "text",
    float: "number",
    list[str]: "texts",
    list: "json",
    dict: "json",
    object: "any",
    Any: "any",
}


class Input:
    """Location of an input for the host.

    `path_params` is the key of `params`, or a list of keys, with which a suite sets another path.
    Otherwise `paths` are tried in order, and the first that exists wins (`model_output.answer`,
    `sample.label`; `sample` is the whole Sample). `kind` is the type to which the host converts
    the value; by default, it follows from the annotation.
    """

    def __init__(
        self, path_params: str | Sequence[str], *paths: str, kind: ValueKind | None = None
    ) -> None:
        self.path_params = [path_params] if isinstance(path_params, str) else list(path_params)
        self.paths = list(paths)
        self.kind = kind


class ResolvedInput:
    """An input as declared to the host."""

    def __init__(self, name: str, source: Input, kind: ValueKind) -> None:
        self.name = name
        self.path_params = source.path_params
        self.paths = source.paths
        self.kind: ValueKind = source.kind or kind


KNOWN_INPUTS: dict[str, Input] = {
    "prediction": Input("prediction_field", "model_output.answer"),
    "reference": Input("label_field", "sample.label"),
    "text": Input("text_field", "model_output.answer"),
}
"""Inputs that need not be declared."""


def resolve_inputs(
    parameters: Sequence[inspect.Parameter],
    hints: Mapping[str, Any],
    declared: Mapping[str, Input],
) -> list[ResolvedInput]:
    """Creates an input from each positional parameter of a function."""
    names = [parameter.name for parameter in parameters]
    for name in declared:
        if name not in names:
            raise TypeError(f"no argument takes the input '{name}'; there are {', '.join(names)}")
    inputs = []
    for name in names:
        source = declared.get(name) or KNOWN_INPUTS.get(name)
        if source is None:
            known = ", ".join(KNOWN_INPUTS)
            raise TypeError(
                f"the input '{name}' must be declared in inputs=…; without that only {known} are known"
            )
        kind = "any" if source.kind else _kind_of(name, hints.get(name, object))
        inputs.append(ResolvedInput(name, source, kind))
    return inputs


def _kind_of(name: str, annotation: Any) -> ValueKind:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind_of(name, arguments[0])
    if origin in (Union, types.UnionType):
        present = [argument for argument in arguments if argument is not type(None)]
        return _kind_of(name, present[0]) if len(present) == 1 else "any"
    kind = _KINDS.get(annotation) or _KINDS.get(origin)
    if kind is None:
        raise TypeError(
            f"the input '{name}' cannot be annotated with {annotation}; allowed are str, float, "
            "list[str], list, dict and object, each with | None"
        )
    return kind
