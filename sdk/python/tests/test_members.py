import json
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from gage_sdk import (
    Input,
    PluginError,
    Row,
    Value,
    aggregator,
    backend,
    doc_hook,
    judge,
    metric,
    preprocessor,
)
from gage_sdk.members import Kind, Member, forget_members, members_of
from gage_sdk.schema import schema_of_annotation


class Members(unittest.TestCase):
    def setUp(self) -> None:
        forget_members()

    def only(self, kind: Kind) -> Member:
        (member,) = members_of(kind).values()
        return member

    def test_what_a_metric_declares(self) -> None:
        @metric(version="2", inputs={"count": Input(["a", "b"], "sample.n", "sample.m")})
        def long_enough(
            prediction: str | None, count: float | None, *, least: int = 3, unit: str
        ) -> bool:
            """Whether it is
            long enough.

            More of it."""
            return len(prediction or "") >= least

        member = self.only("metric")
        self.assertEqual((member.name, member.version), ("long_enough", "2"))
        self.assertEqual(member.description, "Whether it is long enough.")
        inputs = [(one.name, one.path_params, one.paths, one.kind) for one in member.details.inputs]
        self.assertEqual(
            inputs,
            [
                ("prediction", ["prediction_field"], ["model_output.answer"], "text"),
                ("count", ["a", "b"], ["sample.n", "sample.m"], "number"),
            ],
        )
        self.assertEqual(
            json.loads(member.params_schema),
            {
                "type": "object",
                "properties": {
                    "least": {"type": "integer", "default": 3},
                    "unit": {"type": "string"},
                },
                "additionalProperties": False,
                "required": ["unit"],
            },
        )
        self.assertTrue(member.function({"unit": "m", "least": 2})("ab", None))
        self.assertTrue(long_enough("abc", None, unit="m"), "it stays a function")

    def test_params_that_cannot_be_used(self) -> None:
        @metric(version="1")
        class Limited:
            """A class."""

            def __init__(self, *, most: int, least: int = 0) -> None:
                if least > most:
                    raise ValueError("least is above most")

            def score(self, prediction: object) -> float:
                return 1.0

        member = self.only("metric")
        self.assertEqual(member.name, "limited")
        self.assertEqual(member.function({"most": 1})("x"), 1.0)
        for params, message, pointer in [
            ({}, "the param 'most' is missing", None),
            ({"most": 1, "x": 2}, "unknown param 'x'; known are: most, least", "/x"),
            ({"most": 1, "least": 2}, "least is above most", None),
        ]:
            with self.subTest(params=params), self.assertRaises(PluginError) as raised:
                member.create(params)
            error = raised.exception
            self.assertEqual(error.kind, "invalid_config")
            self.assertEqual((error.message, error.pointer), (message, pointer))

    def test_inherited_params(self) -> None:
        @dataclass(kw_only=True)
        class Base:
            least: int = 1
            values = [Value("length", maximum=None)]

            def score(self, prediction: list[str]) -> int:
                return len(prediction)

        @metric(version="1", name="other")
        @dataclass(kw_only=True)
        class Special(Base):
            """A subclass."""

            style: Literal["a", "b"] = "a"

        member = self.only("metric")
        self.assertEqual(member.name, "other")
        self.assertEqual([value.name for value in member.details.values], ["length"])
        self.assertEqual(member.details.inputs[0].kind, "texts")
        self.assertEqual(
            json.loads(member.params_schema)["properties"],
            {"least": {"type": "integer", "default": 1}, "style": {"enum": ["a", "b"], "default": "a"}},
        )

    def test_mistakes(self) -> None:
        def documented(text: str) -> Callable[..., None]:
            def function(prediction: str, *, x: int = 0) -> None: ...

            function.__doc__ = text
            return function

        def undeclared(question: str) -> None:
            "Doc."

        def odd_input(prediction: int) -> None:
            "Doc."

        def odd_param(prediction: str, *, x: set[int]) -> None:
            "Doc."

        class Half:
            "Doc."

            def render(self) -> None: ...

        for decorate, target, message in [
            (metric(version="1"), documented(""), "metric 'function' has no doc string"),
            (metric(version="1"), undeclared, "the input 'question' must be declared in inputs="),
            (metric(version="1"), odd_input, "the input 'prediction' cannot be annotated with"),
            (metric(version="1"), odd_param, "param 'x': no JSON Schema for the annotation"),
            (metric(version="1", inputs={"y": Input("y")}), documented("Doc."), "no argument takes"),
            (judge(version="1"), Half, "the class Half has no method 'parse'"),
            (aggregator(version="1"), undeclared, "is a class with the methods start, add, finish"),
            (backend(version="1"), Half, "a method generate, generate_all or loglikelihood"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                decorate(target)
        with self.assertRaisesRegex(ValueError, "allowed are text, visual, audio"):
            doc_hook("video", version="1")  # type: ignore[arg-type]

    def test_what_a_component_holds(self) -> None:
        with self.assertRaisesRegex(ValueError, "plugin.py holds no doc-hook; mark one with @gage_sdk"):
            members_of("doc-hook")
        metric(version="1", name="a")(lambda_metric())
        with self.assertRaisesRegex(ValueError, "plugin.py holds a metric; gage-plugin.toml says"):
            members_of("judge")
        with self.assertRaisesRegex(ValueError, "two of the kind metric with the name 'a'"):
            metric(version="1", name="a")(lambda_metric())

    def test_rows(self) -> None:
        row = Row({"a": 1}, dataset="d", index=4)
        self.assertEqual((row["a"], row.index, row.get("b")), (1, 4, None))
        with self.assertRaises(PluginError) as raised:
            row["b/c"]
        self.assertEqual((raised.exception.kind, raised.exception.pointer), ("missing_field", "/b~1c"))

        @preprocessor(version="1")
        def identity(row: Row) -> dict[str, Any]:
            "Doc."
            return row

        self.assertEqual(self.only("preprocessor").function({})(row), {"a": 1})


def lambda_metric() -> Callable[[str], float]:
    def function(prediction: str) -> float:
        "Doc."
        return 1.0

    return function


class Schemas(unittest.TestCase):
    def test_annotations(self) -> None:
        for annotation, expected in [
            (bool, {"type": "boolean"}),
            (float | None, {"type": ["number", "null"]}),
            (list[str], {"type": "array", "items": {"type": "string"}}),
            (dict[str, Any], {"type": "object", "additionalProperties": {}}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Annotated[int, "how many", {"minimum": 1}], {"type": "integer", "description": "how many", "minimum": 1}),
            (list[int] | None, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        ]:
            with self.subTest(annotation=annotation):
                self.assertEqual(schema_of_annotation(annotation), expected)


if __name__ == "__main__":
    unittest.main()
