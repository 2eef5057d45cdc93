"""Extractors: functions, or classes with a method `extract`, that find the answer in a model's
output."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .inputs import Input, resolve_inputs
from .members import Member, Target, positional_parameters, register, worker
from .schema import hints_of

AnswerKind = Literal["choice", "number", "list", "text", "reasoning"]


@dataclass(slots=True)
class Answer:
    """An answer in the shape of its kind: `{"value": "B"}`, `{"value": 12.5, "unit": "%"}`,
    `{"items": []}`. `evidence` is the part of the text that contains it."""

    kind: AnswerKind
    value: dict[str, Any]
    evidence: str | None = None

    @staticmethod
    def choice(value: str, evidence: str | None = None) -> "Answer":
        """One of several options, by its id."""
        return Answer("choice", {"value": value}, evidence)

    @staticmethod
    def number(value: float, evidence: str | None = None, unit: str | None = None) -> "Answer":
        """A quantity; a whole number is written without a point."""
        is_whole = isinstance(value, float) and value.is_integer()
        found: dict[str, Any] = {"value": int(value) if is_whole else value}
        if unit is not None:
            found["unit"] = unit
        return Answer("number", found, evidence)

    @staticmethod
    def items(values: Sequence[str], evidence: str | None = None) -> "Answer":
        """Several items, as the kind `list`."""
        return Answer("list", {"items": list(values)}, evidence)

    @staticmethod
    def text(value: str, evidence: str | None = None) -> "Answer":
        """Free text."""
        return Answer("text", {"value": value}, evidence)


def extractor(
    *,
    version: str,
    name: str | None = None,
    inputs: Mapping[str, Input] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Callable[[Target], Target]:
    """Turns a function, or a class with a method `extract`, into an extractor.

    It returns an Answer, or None if the text has none. The first positional argument is the text
    to search; arguments, names and params work as in `metric`.
    """

    def decorate(target: Target) -> Target:
        found = resolve_inputs(
            positional_parameters(target, "extract"),
            hints_of(worker(target, "extract")),
            inputs or {},
        )
        register(
            Member(
                "extractor",
                target,
                version=version,
                name=name,
                params=params,
                method="extract",
                details=found,
            )
        )
        return target

    return decorate
