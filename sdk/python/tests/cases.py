"""Runs the cases that the templates of all languages share, through the glue of each kind."""

import json
from collections.abc import Callable
from typing import Any

from guest import Guest

NAME = "my_plugin"


class Outcome:
    """What one case gave: a value, or the kind of an error."""

    def __init__(self, result: Any) -> None:
        self.error = None
        self.value = None
        if type(result).__name__ == "Err":
            self.error = result.value.kind.name.lower()
        else:
            self.value = result.value


def run_case(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    """What the case gave, under the names by which a case says what is expected."""
    return _RUNNERS[guest.kind](guest, case)


def matches(expected: Any, found: Any) -> bool:
    """Whether everything that is expected is found; more may be."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and matches(value, found[key]) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(expected) == len(found) and all(map(matches, expected, found))
    if isinstance(expected, float):
        return isinstance(found, (int, float)) and abs(expected - found) < 1e-9
    return bool(expected == found)


def _params(case: dict[str, Any]) -> str:
    return json.dumps(case.get("params", {}))


def _item(guest: Guest, case: dict[str, Any], inputs: list[Any]) -> tuple[Any, str]:
    """The item of a case, and the params without those of the host."""
    params = dict(case.get("params", {}))
    values = []
    for one in inputs:
        paths = [params.pop(key) for key in one.path_params if key in params] or one.default_paths
        if "inputs" in case:
            value = case["inputs"].get(one.name)
        else:
            found = (_at(case, path) for path in paths)
            value = next((value for value in found if value is not None), None)
        values.append(guest.value(value))
    return guest.types.Item("1", values), json.dumps(params)


def _at(document: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _metric(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    item, params = _item(guest, case, guest.exports.metrics()[0].inputs)
    card = Outcome(guest.exports.score(NAME, params, [item])[0]).value
    assert card is not None
    return {
        "expected": {
            "primary_score": card.primary_score,
            "pass": card.pass_,
            "sub_scores": {one.name: one.value for one in card.sub_scores},
            "error_tags": card.error_tags,
        }
    }


def _extractor(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    item, params = _item(guest, case, guest.exports.extractors()[0].inputs)
    answer = Outcome(guest.exports.extract(NAME, params, [item])[0]).value
    if answer is None:
        return {"expected": None}
    kind, value = answer.kind.name.lower(), json.loads(answer.value)
    return {"expected": {"kind": kind, "value": value, "evidence": answer.evidence}}


def _preprocessor(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    row = guest.wit.RawRow("d", 0, json.dumps(case["row"]))
    outcome = Outcome(guest.exports.convert(NAME, _params(case), [row])[0])
    if isinstance(outcome.value, guest.wit.Outcome_Skip):
        return {"expected_skip": outcome.value.value}
    sample = outcome.value and json.loads(outcome.value.value)
    return {"expected": sample, "expected_error": outcome.error}


def _doc_hook(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    samples = [json.dumps(case["sample"])]
    outcome = Outcome(guest.exports.to_media(NAME, _params(case), samples)[0])
    sources = outcome.value or []
    found = [{"kind": one.kind.name.lower(), "source": one.source} for one in sources]
    return {"expected": found, "expected_error": outcome.error}


def _aggregator(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    state, params = b"", _params(case)
    try:
        for row in case["rows"]:
            score = row["card"]["primary_score"]
            card = guest.types.ScoreCard(score, None, [], [], None, "{}")
            one = guest.wit.Row(row["sample_id"], float(row.get("weight", 1)), card)
            state = guest.exports.fold(NAME, params, state, [one])
        figures = guest.exports.finish(NAME, params, state)
        # A state that is drawn once has its own figures.
        if guest.exports.resample(NAME, params, [state, state], [[0, 1]]) != [figures]:
            return {"expected": "other figures than those of the resample"}
    except Exception as error:  # The class Err is that of the bindings, which come and go.
        return {"expected_error": Outcome(error).error}
    return {"expected": {one.name: one.value for one in figures}}


def _judge(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    sample, output = json.dumps(case["sample"]), json.dumps(case["model_output"])
    asked = guest.wit.Case("1", sample, output)
    prompts = Outcome(guest.exports.render(NAME, _params(case), [asked])[0]).value
    found: dict[str, Any] = {"expected_prompts": [{"messages": _messages(one)} for one in prompts]}
    if "replies" in case:
        replies = [_generation(guest, reply) for reply in case["replies"]]
        answered = guest.wit.Answered(asked, replies)
        verdict = Outcome(guest.exports.parse(NAME, _params(case), [answered])[0]).value
        if isinstance(verdict, guest.wit.Verdict_Unparseable):
            found["expected_unparseable"] = True
        else:
            found["expected"] = json.loads(verdict.value)
    return found


def _role_adapter(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    payload = json.dumps(case["payload"])
    outcome = Outcome(guest.exports.prepare(NAME, _params(case), [payload])[0])
    if outcome.value is None:
        return {"expected_error": outcome.error}
    if isinstance(outcome.value, guest.wit.Prepared_Output):
        return {"expected_output": json.loads(outcome.value.value)}
    answered = guest.wit.Answered(payload, _generation(guest, case["reply"]))
    output = Outcome(guest.exports.parse(NAME, _params(case), [answered])[0]).value
    request = {"messages": _messages(outcome.value.value)}
    return {"expected_request": request, "expected": json.loads(output or "null")}


def _backend(guest: Guest, case: dict[str, Any]) -> dict[str, Any]:
    messages = [
        guest.types.Message(guest.types.Role[one["role"].upper()], one["content"], "{}")
        for one in case["messages"]
    ]
    request = guest.wit.GenerateRequest("1", messages, "{}")
    outcome = Outcome(guest.exports.generate(_params(case), [request])[0])
    answer = outcome.value and {
        "answer": outcome.value.answer,
        "finish": outcome.value.finish.name.lower(),
    }
    return {"expected": answer, "expected_error": outcome.error}


def _messages(prompt: Any) -> list[dict[str, str]]:
    return [{"role": one.role.name.lower(), "content": one.content} for one in prompt.messages]


def _generation(guest: Guest, answer: str) -> Any:
    return guest.types.Generation(answer, guest.types.FinishReason.STOP, None, "{}")


_RUNNERS: dict[str, Callable[[Guest, dict[str, Any]], dict[str, Any]]] = {
    "metric": _metric,
    "preprocessor": _preprocessor,
    "doc-hook": _doc_hook,
    "aggregator": _aggregator,
    "judge": _judge,
    "extractor": _extractor,
    "role-adapter": _role_adapter,
    "backend": _backend,
}
