"""Bases and helpers against the cases that were recorded from the reference implementation, and
the differences from it that are meant: the same files that the components of Rust are held against."""

import json
import math
import unittest
from pathlib import Path
from typing import Any

from gage_sdk import (
    Input,
    Likelihood,
    Ranking,
    ScoreCard,
    flatten_numbers,
    levenshtein_distance,
    metric,
)
from gage_sdk.members import forget_members, members_of

FOLDER = Path(__file__).resolve().parents[3] / "tests" / "conformance"
Json = dict[str, Any]


def cases(file: str) -> list[Json]:
    """The cases of a file, with what is meant to differ in place of what was recorded."""
    differences = {
        known["case"]: known["expected"]
        for known in json.loads((FOLDER / "known_differences.json").read_text("utf-8"))
        if known["file"] == file
    }
    found = [json.loads(line) for line in (FOLDER / "cases" / file).read_text("utf-8").splitlines()]
    for case in found:
        name = "expected_values" if "expected_values" in case else "expected"
        case["expected"] = differences.get(case["case"], case[name])
    return found


def resolve(case: Json, source: Input) -> object:
    """The value of an input, as the host finds it."""
    paths = [case["params"][key] for key in source.path_params if key in case["params"]]
    for path in paths[:1] or source.paths:
        value: Any = case
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def score(base: Any, case: Json) -> ScoreCard:
    own = {path for source in base.inputs.values() for path in source.path_params}
    params = {name: value for name, value in case["params"].items() if name not in own}
    card = base(**params).score(*(resolve(case, source) for source in base.inputs.values()))
    assert isinstance(card, ScoreCard)
    return card


class Conformance(unittest.TestCase):
    def test_likelihoods(self) -> None:
        for case in cases("likelihood.jsonl"):
            with self.subTest(case=case["case"], note=case["note"]):
                card, expected = score(Likelihood, case), case["expected"]
                if expected is None:
                    self.assertIsNone(card.primary_score)
                    continue
                for name, value in expected.items():
                    self.assertEqual(name, card.detail["metric_type"])
                    self.assertAlmostEqual(card.sub_scores[name], value, delta=1e-9)
                    self.assertEqual(card.primary_score, card.sub_scores[name])

    def test_rankings(self) -> None:
        forget_members()
        metric(version="1")(Ranking)
        (member,) = members_of("metric").values()
        k = json.loads(member.params_schema)["properties"]["k"]
        forget_members()
        self.assertEqual((k["type"], k["minimum"], k["default"]), ("integer", 0, 3))
        for case in cases("ranking.jsonl"):
            with self.subTest(case=case["case"], note=case["note"]):
                if "expected_error" in case:
                    # The host rejects values that violate the schema before creating a metric.
                    self.assertNotIsInstance(case["params"]["k"], int)
                    continue
                card, metadata = score(Ranking, case), case["expected_metadata"]
                self.assertIsNotNone(card.primary_score)
                primary = card.primary_score or 0.0
                self.assertAlmostEqual(primary, case["expected"]["hit"], delta=1e-9)
                if case["expected"] == case["expected_values"]:
                    self.assertEqual(
                        card.detail, {"k": metadata["k"], "rank": metadata["hit_rank"]}
                    )
                    for name in ("mrr", "hit_at_k"):
                        self.assertAlmostEqual(card.sub_scores[name], metadata[name], delta=1e-9)

    def test_distances(self) -> None:
        for case in cases("helper_levenshtein_distance.jsonl"):
            with self.subTest(case=case["case"]):
                pair = case["input"]
                self.assertEqual(levenshtein_distance(pair["a"], pair["b"]), case["expected"])

    def test_numbers(self) -> None:
        for case in cases("helper_flatten_numeric_list.jsonl"):
            with self.subTest(case=case["case"]):
                found = flatten_numbers(case["input"]["value"])
                spelled = ["NaN" if math.isnan(number) else number for number in found]
                self.assertEqual(spelled, case["expected"])


if __name__ == "__main__":
    unittest.main()
