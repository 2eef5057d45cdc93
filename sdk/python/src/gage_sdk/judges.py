"""Judges: classes that prompt a judge model and interpret its reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .members import Member, Target, register, require_methods


@dataclass(slots=True)
class Case:
    """A Sample, and the output of the model under test: an object with `answer`."""

    sample_id: str
    sample: dict[str, Any]
    model_output: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unparseable:
    """Reports that the replies are unusable. The sample then has no score; it does not count as 0.
    """

    reason: str


def judge(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Turns a class with two methods into a judge.

    `render(case)` returns the Prompt for the judge model, or a list of them if answers are
    compared in both orders. `parse(case, replies)` gets a Generation per prompt. It returns
    Unparseable, or the `judge_output` as a dict with `score` or `answer` for metrics. The host
    makes the call. Names and params work as in the class form of `metric`.
    """

    def decorate(target: Target) -> Target:
        require_methods(target, "judge", "render", "parse")
        register(Member("judge", target, version=version, name=name, params=params))
        return target

    return decorate
