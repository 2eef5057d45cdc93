"""The component of a judge plugin."""

import json
from collections.abc import Callable
from typing import Any

from wit_world.exports import judge as wit

from ..json_text import encode, encode_object
from ..judges import Case, Unparseable
from ..messages import Prompt
from .batches import Members, each, member_spec, plugin_info
from .bindings import generation_from_wit, messages_to_wit

_MEMBERS = Members("judge")


class Judge:
    """The interface `judge`."""

    def describe(self) -> Any:
        return plugin_info()

    def judges(self) -> list[Any]:
        return [member_spec(member) for member in _MEMBERS]

    def check(self, judge: str, params: str) -> None:
        _MEMBERS.check(judge, params)

    def render(self, judge: str, params: str, cases: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            made = _MEMBERS.create(judge, params)
            return lambda case: _prompts(made.render(_case(case)))

        return each(cases, prepare)

    def parse(self, judge: str, params: str, cases: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            made = _MEMBERS.create(judge, params)
            return lambda answered: _verdict(
                made.parse(
                    _case(answered.case),
                    [generation_from_wit(reply) for reply in answered.replies],
                )
            )

        return each(cases, prepare)


def _case(case: Any) -> Case:
    return Case(case.sample_id, json.loads(case.sample), json.loads(case.model_output))


def _prompts(prompts: Any) -> list[Any]:
    several = [prompts] if isinstance(prompts, Prompt) else prompts
    return [
        wit.Prompt(messages_to_wit(one.messages), encode_object(one.params)) for one in several
    ]


def _verdict(verdict: Any) -> Any:
    if isinstance(verdict, Unparseable):
        return wit.Verdict_Unparseable(str(verdict.reason))
    if isinstance(verdict, dict):
        return wit.Verdict_Output(encode(verdict))
    raise TypeError(f"parse returns a dict or Unparseable, found {type(verdict).__name__}")
