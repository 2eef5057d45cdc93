"""What the glue does alike for every plugin: batches, errors, host imports."""

import json
import unittest
from typing import Any

from guest import Guest, host_module

METRICS = '''
"""Tries things.

More."""
from gage_sdk import Input, PluginError, ScoreCard, describe, http, metric

describe(name="tries", version="1.2.3", license="MIT", wants={"http": ["example.com"]})

@metric(version="1", inputs={"value": Input("value_field", "sample.value")})
def tried(value: object, *, scale: float = 1.0):
    """Tries what the value says."""
    if value == "raise":
        raise PluginError("upstream", "no luck", pointer="/a", retryable=True)
    if value == "break":
        return {}["x"]
    if value == "card":
        return ScoreCard(2, True, {"a": 1}, ["t"], "why", {"k": "é"})
    if value == "tag":
        return ScoreCard(1.0, error_tags=[3])
    if value == "nan":
        return ScoreCard(1.0, detail={"x": float("nan")})
    if value == "http":
        http.send(http.Request("GET", "https://example.com"))
    if value == "text":
        return "1.0"
    if isinstance(value, dict):
        return value["n"]
    return value

@metric(version="1", inputs={"value": Input("value_field", "sample.value")})
def number(value: float | None):
    """Whether a number is a float."""
    return isinstance(value, float)
'''

BACKEND = '''
"""Asks others."""
from gage_sdk import ContinuationScore, Message, PluginError, backend, http, llm, media

@backend(version="1", max_batch=4)
class Asks:
    """Asks others."""

    def __init__(self, *, mode: str) -> None:
        self.mode = mode

    def generate_all(self, requests):
        if self.mode == "short":
            return []
        return [getattr(self, self.mode)() for request in requests]

    def http(self):
        headers = {"authorization": http.bearer("key"), "x-key": http.secret("key")}
        response = http.send(http.post_json("https://example.com", {"a": 1}, headers))
        both = http.send_all([http.Request("GET", "u")] * 2)
        return f"{response.json()['b']} {both[0].status} {both[1].kind}"

    def llm(self):
        request = llm.Request("judge", [Message("user", "q")], {"temperature": 0})
        answers = llm.generate_all([request])
        scores = llm.loglikelihood("judge", request.messages, ["a"])
        both = llm.loglikelihood_all([llm.Continuations("judge", request.messages, ["a"])] * 2)
        text = llm.rolling_loglikelihood("judge", "a text")
        texts = llm.rolling_loglikelihood_all("judge", ["a", ""])
        (vector,) = llm.embed("judge", ["a"])
        lists = llm.embed_all("judge", [["a"], []])
        return (
            f"{llm.generate(request).answer} {answers[0].finish} {scores[0].logprob} "
            f"{both[0][0].token_count} {both[1].kind} {text.logprob} {text.byte_count} "
            f"{texts[0].token_count} {texts[1].kind} {vector} {lists[0]} {lists[1].kind}"
        )

    def media(self):
        return f"{media.look_up('sha256:1').media_type} {len(media.read('sha256:1', 1))}"

    def loglikelihood(self, request):
        return [ContinuationScore(-1.0, 1, True) for _ in request.continuations]
'''


class Metrics(unittest.TestCase):
    def test_a_batch(self) -> None:
        with Guest("metric", METRICS) as guest:
            for value, expected in [
                (0.5, (0.5, None)),
                (3, (3.0, None)),
                (True, (1.0, True)),
                (False, (0.0, False)),
                (None, (None, None)),
                ({"n": 2}, (2.0, None)),
                ("card", (2.0, True)),
                ("raise", ("upstream", "no luck", "/a", True)),
                ("break", ("internal", "KeyError: 'x' (plugin.py, line 15, in tried)", None, False)),
                ("tag", ("internal", "TypeError: an error tag must be a str, found int", None, False)),
                ("nan", ("internal", None, None, False)),
                ("text", ("internal", None, None, False)),
                ("http", ("unsupported", None, None, False)),
            ]:
                with self.subTest(value=value):
                    items = [guest.types.Item("1", [guest.value(one)]) for one in (1, value, 1)]
                    first, result, last = guest.exports.score("tried", "{}", items)
                    self.assertEqual((first.value.primary_score, last.value.primary_score), (1.0, 1.0))
                    found = result.value
                    if type(result).__name__ == "Ok":
                        self.assertEqual((found.primary_score, found.pass_), expected)
                    else:
                        message = found.message if expected[1] else None
                        kind = found.kind.name.lower()
                        self.assertEqual(
                            (kind, message, found.pointer, found.retryable), expected
                        )

    def test_a_whole_card(self) -> None:
        with Guest("metric", METRICS) as guest:
            items = [guest.types.Item("1", [guest.value("card")])]
            card = guest.exports.score("tried", '{"scale": 2}', items)[0].value
            self.assertEqual([(one.name, one.value) for one in card.sub_scores], [("a", 1.0)])
            found = (card.error_tags, card.explain, json.loads(card.detail))
            self.assertEqual(found, (["t"], "why", {"k": "é"}))
            items = [guest.types.Item("1", [guest.value(3)])]
            self.assertTrue(guest.exports.score("number", "{}", items)[0].value.pass_)

    def test_failed_preparation(self) -> None:
        with Guest("metric", METRICS) as guest:
            item = guest.types.Item("1", [guest.value(1)])
            for name, params, kind, message in [
                ("none", "{}", "unsupported", "no metric 'none'; it holds tried, number"),
                ("tried", '{"x": 1}', "invalid_config", "unknown param 'x'; known are: scale"),
                ("tried", "[]", "invalid_config", "the params are not an object"),
                ("tried", "{", "invalid_config", "the params are not JSON"),
            ]:
                with self.subTest(name=name, params=params):
                    results = guest.exports.score(name, params, [item, item])
                    self.assertEqual(len(results), 2)
                    self.assertEqual(results[1].value.kind.name.lower(), kind)
                    self.assertIn(message, results[1].value.message)
                    with self.assertRaises(Exception) as raised:
                        guest.exports.check(name, params)
                    self.assertIn(message, raised.exception.value.message)  # type: ignore[attr-defined]
            guest.exports.check("tried", "null")

    def test_who_it_is(self) -> None:
        with Guest("metric", METRICS) as guest:
            info = guest.exports.describe()
            self.assertEqual((info.name, info.version, info.description), ("tries", "1.2.3", "Tries things."))
            self.assertEqual(json.loads(info.extra), {"license": "MIT", "wants": {"http": ["example.com"]}})


class Backends(unittest.TestCase):
    def answer(self, guest: Guest, mode: str) -> Any:
        request = guest.wit.GenerateRequest("1", [], "{}")
        return guest.exports.generate(json.dumps({"mode": mode}), [request])[0].value

    def test_host_imports(self) -> None:
        with Guest("backend", BACKEND, ("media", "http", "llm")) as guest:
            types, sent = guest.types, []
            py = __import__("componentize_py_types")
            refusal = types.PluginError(types.ErrorKind.DENIED, "no", None, False)
            http, llm, media = map(host_module, ("http", "llm", "media"))
            generation = types.Generation("A", types.FinishReason.LENGTH, None, "{}")

            def send(request: Any) -> Any:
                sent.append(request)
                return http.Response(200, [], b'{"b": 2}')

            http.send = send
            http.send_all = lambda requests: [py.Ok(http.Response(204, [], b"")), py.Err(refusal)]
            llm.generate = lambda request: generation
            llm.generate_all = lambda requests: [py.Ok(generation)]
            llm.loglikelihood = lambda request: [types.ContinuationScore(-2.0, 1, False)]
            llm.loglikelihood_all = lambda requests: [
                py.Ok([types.ContinuationScore(-2.0, len(requests), False)]),
                py.Err(refusal),
            ]
            llm.rolling_loglikelihood = lambda request: llm.RollingScore(
                -3.5, 2, len(request.text)
            )
            llm.rolling_loglikelihood_all = lambda requests: [
                py.Ok(llm.RollingScore(-1.0, len(requests), 1)),
                py.Err(refusal),
            ]
            llm.embed = lambda request: [[0.5, -1.0] for _ in request.texts]
            llm.embed_all = lambda requests: [py.Ok([[2.0]]), py.Err(refusal)]
            media.find = lambda digest: types.MediaRef(digest, types.MediaKind.IMAGE, "image/png", 9)
            size = (1 << 20) + 5
            media.read = lambda digest, offset, length: bytes(max(min(size - offset, length), 0))
            self.assertEqual(self.answer(guest, "http").answer, "2 204 denied")
            self.assertEqual(
                self.answer(guest, "llm").answer,
                "A length -2.0 2 denied -3.5 6 2 denied [0.5, -1.0] [[2.0]] denied",
            )
            self.assertEqual(self.answer(guest, "media").answer, f"image/png {size - 1}")
            self.assertEqual(sent[0].body, b'{"a":1}')
            values = [(one.name, type(one.value).__name__, one.value.value) for one in sent[0].headers]
            self.assertEqual(
                values,
                [
                    ("content-type", "HeaderValue_Plain", "application/json"),
                    ("authorization", "HeaderValue_Bearer", "key"),
                    ("x-key", "HeaderValue_Secret", "key"),
                ],
            )

            def refuse(request: Any) -> Any:
                raise py.Err(refusal)

            http.send = refuse
            self.assertEqual(self.answer(guest, "http").kind, types.ErrorKind.DENIED)

    def test_what_is_not_imported(self) -> None:
        with Guest("backend", BACKEND) as guest:
            for name in ("http", "llm", "media"):
                error = self.answer(guest, name)
                self.assertEqual(error.kind, guest.types.ErrorKind.UNSUPPORTED)
                self.assertIn(f'add "{name}" to imports in gage-plugin.toml', error.message)

    def test_what_it_offers(self) -> None:
        with Guest("backend", BACKEND) as guest:
            spec = guest.exports.spec()
            offers = (spec.max_batch, spec.supports_generate, spec.supports_loglikelihood)
            self.assertEqual(offers, (4, True, True))
            error = self.answer(guest, "short")
            self.assertIn("generate_all returned 0 answers to 1 requests", error.message)
            request = guest.wit.LoglikelihoodRequest("1", [], ["a", "b"])
            scores = guest.exports.loglikelihood('{"mode": "x"}', [request])[0].value
            self.assertEqual([one.logprob for one in scores], [-1.0, -1.0])


if __name__ == "__main__":
    unittest.main()
