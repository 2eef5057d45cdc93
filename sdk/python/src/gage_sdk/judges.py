"""Judges: classes that ask a judge model and read its reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .members import Member, Target, register, require_methods


@dataclass(slots=True)
class Case:
    """A Sample, and what the model under test gave: an object with `answer`."""

    sample_id: str
    sample: dict[str, Any]
    model_output: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unparseable:
    """Says that the replies cannot be used, and why. The sample then has no score; it is not a 0."""

    reason: str


def judge(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Makes a judge of a class with two methods.

    `render(case)` returns the Prompt for the judge model, or a list of them where answers are
    compared in both orders. `parse(case, replies)` gets a Generation for each prompt, and returns
    the `judge_output` as a dict, with `score` or `answer` as metrics read them, or Unparseable.
    The host makes the call. Names and params work as for the class form of `metric`.
    """

    def decorate(target: Target) -> Target:
        require_methods(target, "judge", "render", "parse")
        register(Member("judge", target, version=version, name=name, params=params))
        return target

    return decorate
