"""The component of an extractor plugin."""

from collections.abc import Callable
from typing import Any

from wit_world.exports import answer_extractor as wit

from ..extractors import Answer
from ..json_text import encode_object
from .batches import Members, each, member_spec, plugin_info, read_params
from .bindings import case_named, text
from .values import input_specs, item_reader

_MEMBERS = Members("extractor")
_KINDS = {case.name.lower(): case for case in wit.AnswerKind}


class AnswerExtractor:
    """The interface `answer-extractor`."""

    def describe(self) -> Any:
        return plugin_info()

    def extractors(self) -> list[Any]:
        return [
            wit.ExtractorSpec(member_spec(member), input_specs(member.details))
            for member in _MEMBERS
        ]

    def check(self, extractor: str, params: str) -> None:
        _MEMBERS.check(extractor, params)

    def extract(self, extractor: str, params: str, items: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            member = _MEMBERS.named(extractor)
            extract = member.function(read_params(params))
            read = item_reader(member.details)
            return lambda item: _answer(extract(*read(item)))

        return each(items, prepare)


def _answer(answer: Any) -> Any:
    if answer is None:
        return None
    if not isinstance(answer, Answer):
        raise TypeError(f"an extractor returns an Answer or None, found {type(answer).__name__}")
    evidence = None if answer.evidence is None else text(answer.evidence, "the evidence")
    kind = case_named(_KINDS, answer.kind, "kind of answer")
    return wit.Answer(kind, encode_object(answer.value), evidence)
