"""Runs programs of models in Python's interpreter, and tests them."""

from typing import Literal

import wit_world

from gage_sdk import Input, PluginError, ScoreCard, Value, describe, metric, strip_thought_tags

import library
from program import entry_point_of, program_of
from verdict import Task, judge

library.keep_library()
describe(name="python_tests", version="0.1.0", license="Apache-2.0")

Form = Literal["auto", "completion", "whole"]


@metric(
    version="1",
    inputs={
        "test": Input("test_field", "sample.metadata.test", "sample.metadata.test_list", kind="texts"),
        "entry_point": Input("entry_point_field", "sample.metadata.entry_point"),
        "prompt": Input("prompt_field", "sample.metadata.prompt", "sample.messages.0.content.0.text"),
        "setup": Input("setup_field", "sample.metadata.test_setup_code", "sample.metadata.test_imports", kind="texts"),
    },
    values=[Value("passed")],
)
def python_tests(
    prediction: str | None,
    test: list[str] | None,
    entry_point: str | None,
    prompt: str | None,
    setup: list[str] | None,
    *,
    program: Form = "auto",
) -> ScoreCard:
    """Whether the program in the answer passes its tests."""
    if not test:
        raise PluginError("missing_field", "the sample has no tests: set `test_field` to the path of their code")
    answer = prediction or ""
    if program != "completion" and "</think>" in answer:
        answer = strip_thought_tags(answer)
    name = entry_point or entry_point_of(prompt or "")
    code = program_of(answer, prompt or "", name, program)
    task = Task(test, "\n".join(setup or []), prompt or "", name)
    verdict = judge(wit_world.ask, code, task)
    has_passed = verdict.outcome == "passed"
    detail = {"outcome": verdict.outcome, "line": verdict.line, "test": verdict.test}
    return ScoreCard(
        1.0 if has_passed else 0.0,
        passed=has_passed,
        error_tags=[] if has_passed else [verdict.outcome],
        explain=verdict.explain,
        detail={key: value for key, value in detail.items() if value is not None},
    )
