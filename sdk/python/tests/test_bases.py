import json
import math
import unittest
from typing import Any

from gage_sdk import (
    Comparison,
    Likelihood,
    MultiReference,
    NumericThreshold,
    PluginError,
    Ranking,
    ScoreCard,
    SequenceDistance,
)


class Same(Comparison):
    def compare(self, prediction: object, reference: object) -> bool:
        return prediction == reference


class Bases(unittest.TestCase):
    def score(self, base: Any, *inputs: object, **params: Any) -> ScoreCard:
        card = base(**params).score(*inputs)
        assert isinstance(card, ScoreCard)
        return card

    def near(self, found: float | None, expected: float | None) -> None:
        if found is None or expected is None:
            self.assertEqual(found, expected)
        else:
            self.assertAlmostEqual(found, expected, delta=1e-9)

    def test_comparison(self) -> None:
        card = self.score(Same, "a", "a")
        self.assertEqual((card.primary_score, card.passed), (1.0, True))
        self.assertEqual(card.detail, {"prediction": "a", "reference": "a"})

    def test_sequence_distance(self) -> None:
        for prediction, reference, normalize, score, distance in [
            ("kitten", "sitting", "anls", 4 / 7, 3),
            ("kitten", "sitting", "WER", 4 / 7, 3),
            ("kitten", "sitting", "raw", 3.0, 3),
            ("", "", "anls", 1.0, 0),
            (None, None, "wer", 1.0, 0),
            ("", "", "raw", 0.0, 0),
            ("", "a", "anls", 0.0, 1),
            ("a", "", "wer", 0.0, 1),
            ("A  B", "a b", "anls", 1.0, 0),
            ("abcdefgh", "a", "anls", 0.125, 7),
            ("abcdefgh", "a", "wer", 0.0, 7),
            ("北京", "东京", "anls", 0.5, 1),
        ]:
            with self.subTest(prediction=prediction, reference=reference, normalize=normalize):
                card = self.score(SequenceDistance, prediction, reference, normalize=normalize)
                self.assertAlmostEqual(card.primary_score or 0.0, score, delta=1e-9)
                self.assertEqual(card.detail["distance"], distance)
                self.assertEqual(card.detail["strategy"], normalize.lower())

    def test_multi_reference(self) -> None:
        for prediction, references, params, score, best in [
            ("a", ["b", "A"], {}, 1.0, "a"),
            ("a", "x|a", {"separator": "|"}, 1.0, "a"),
            ("a", "x|a", {}, 0.0, "x|a"),
            ("a", ["A"], {"case_sensitive": True}, 0.0, "A"),
            ("", ["a"], {}, 0.0, None),
            ("a", None, {}, 0.0, None),
            ("a  b", ["a b"], {}, 1.0, "a b"),
            ("a", ["", "a"], {}, 1.0, "a"),
            ("1", [1], {}, 1.0, "1"),
        ]:
            with self.subTest(prediction=prediction, references=references):
                card = self.score(MultiReference, prediction, references, **params)
                self.assertEqual(card.primary_score, score)
                self.assertEqual(card.detail.get("best_reference"), best)

    def test_numeric_threshold(self) -> None:
        for prediction, reference, params, score, tags in [
            (1.0, "1", {}, 1.0, []),
            ("1.05", 1, {"tolerance": 0.1}, 1.0, []),
            ("1.2", 1, {"tolerance": 0.1}, 0.0, []),
            (1, 1, {"min_value": 2}, 0.0, []),
            (3, 3, {"max_value": 2.5}, 0.0, []),
            ("one", 1, {}, 0.0, ["invalid_format"]),
            (True, 1, {}, 0.0, ["invalid_format"]),
            (1, None, {}, 0.0, ["invalid_format"]),
        ]:
            with self.subTest(prediction=prediction, reference=reference):
                card = self.score(NumericThreshold, prediction, reference, **params)
                self.assertEqual((card.primary_score, card.error_tags), (score, tags))

    def test_likelihood(self) -> None:
        e = 2.718281828459045
        for loss, logprobs, metric_type, score, source in [
            (1.25, None, "nll", 1.25, "loss"),
            (0, None, "nll", 0.0, "loss"),
            ("1.25", None, "nll", 1.25, "loss"),
            (1.0, [-5.0], "nll", 1.0, "loss"),
            ("x", [-1, -2], "nll", 1.5, "token_logprobs"),
            (True, None, "nll", 1.0, "loss"),
            (False, [-1], "nll", 0.0, "loss"),
            (None, [[-0.1, -0.2], [-0.3, [-0.4]]], "nll", 0.25, "token_logprobs"),
            (None, [{"logprob": -0.7}], "nll", 0.7, "token_logprobs"),
            (1.0, None, "PPL", e, "loss"),
            (1e6, None, "ppl", None, "loss"),
            (None, ["inf", "-inf"], "nll", None, "token_logprobs"),
            ("nan", None, "nll", None, None),
            ("nan", [-1], "nll", 1.0, "token_logprobs"),
            (None, None, "ppl", None, None),
        ]:
            with self.subTest(loss=loss, logprobs=logprobs, metric_type=metric_type):
                card = self.score(Likelihood, loss, logprobs, metric_type=metric_type)
                self.near(card.primary_score, score)
                self.near(card.sub_scores.get(metric_type.lower()), score)
                self.assertEqual(card.explain is None, score is not None)
                self.assertEqual(card.detail.get("source"), source)

    def test_the_likelihood_of_a_whole_text(self) -> None:
        bit = math.log(2)
        rolling = {"loglikelihood": -8 * bit, "token_count": 4, "byte_count": 8, "word_count": 2}
        for metric_type, expected in [("nll", 2 * bit), ("ppl", 4.0), ("bits_per_byte", 1.0)]:
            card = self.score(Likelihood, None, rolling, metric_type=metric_type)
            self.near(card.primary_score, expected)
            self.assertEqual((card.detail["source"], card.detail["token_count"]), ("rolling", 4))
        for broken in [{"loglikelihood": -1, "token_count": 0}, {"loglikelihood": None}]:
            self.assertIsNone(self.score(Likelihood, None, broken).primary_score)

    def test_what_is_known_of_a_likelihood(self) -> None:
        card = self.score(Likelihood, 1000.0, None, None, 2.0, metric_type="ppl")
        self.assertEqual((card.primary_score, card.sub_scores), (None, {"nll": 1000.0}))
        detail = {"source": "loss", "token_count": 2, "metric_type": "ppl"}
        self.assertEqual(card.detail, detail)
        self.assertEqual(json.dumps(card.detail), json.dumps(detail))

    def test_bits_per_byte(self) -> None:
        bit = math.log(2)
        # Two tokens of one bit each, covering four bytes, are half a bit per byte.
        for inputs, score in [
            ((None, [-bit, -bit], 4), 0.5),
            ((bit, None, "4", 2.0), 0.5),
            ((bit, None, 4), None),
            ((bit, None, 4, True), None),
            ((None, [-bit, -bit], 0), None),
            ((None, [-bit, -bit], "inf"), None),
            ((None, [-bit, -bit]), None),
        ]:
            with self.subTest(inputs=inputs):
                card = self.score(Likelihood, *inputs, metric_type="bits_per_byte")
                self.near(card.primary_score, score)
                self.near(card.sub_scores["nll"], bit)

    def test_ranking(self) -> None:
        for candidates, targets, params, score, rank in [
            (["a", "b", "c"], ["a"], {}, 1.0, 1),
            (["a", "b", "c"], ["c", "b"], {}, 0.5, 2),
            (["a", "b", "c", "d"], ["d"], {"metric_type": "HIT@K"}, 0.0, 4),
            (["a", "b", "c", "d"], ["d"], {"metric_type": "hit_at_k", "k": 4}, 1.0, 4),
            (["a"], ["a"], {"metric_type": "hit_at_k", "k": 0}, 0.0, 1),
            (["Paris"], ["paris"], {}, 0.0, None),
            ([1, 2], ["2"], {}, 0.5, 2),
            ([1, 2.0], [2], {}, 0.5, 2),
            ([1.5], ["1.5"], {}, 1.0, 1),
            ([True], ["True"], {}, 1.0, 1),
            (["False"], [False], {}, 1.0, 1),
            ([True], [1], {}, 0.0, None),
            (["true"], ["True"], {}, 0.0, None),
            (["None", None], [None], {}, 0.0, None),
            ("a", "a", {}, 1.0, 1),
            (None, ["a"], {}, 0.0, None),
            (["x", {"doc": "y"}], "y", {"candidate_field": "doc"}, 0.5, 2),
            (["x", {"doc": "y"}], "y", {"candidate_key": "doc"}, 0.5, 2),
            ([{"id": 7}, {"id": 8}], [8], {}, 0.5, 2),
            ([7, 8], {"id": 8}, {}, 0.5, 2),
            ([{"doc": "y"}], ["y"], {}, 0.0, None),
            (['{"doc":"y"}'], [{"doc": "y"}], {}, 1.0, 1),
            ([None, {"text": "y"}], ["y"], {}, 0.5, 2),
        ]:
            with self.subTest(candidates=candidates, targets=targets):
                card = self.score(Ranking, candidates, targets, **params)
                self.assertEqual((card.primary_score, card.detail["rank"]), (score, rank))
                self.assertEqual(list(card.sub_scores), ["mrr", "hit_at_k"])

    def test_rankings_with_grades(self) -> None:
        candidates = ["a", "b", "a", "c"]
        for targets in [
            {"a": 1, "c": 3, "d": 0},
            [
                {"id": "a", "grade": 1},
                {"id": "c", "relevance": 3.0},
                {"text": "d", "gain": 0},
                {"id": "a", "grade": 7},
            ],
        ]:
            with self.subTest(targets=targets):
                card = self.score(Ranking, candidates, targets, k=4)
                ndcg = (1.0 + 3.0 / math.log2(5)) / (3.0 + 1.0 / math.log2(3))
                self.near(card.sub_scores["ndcg_at_k"], ndcg)
                self.near(card.sub_scores["average_precision"], (1.0 + 0.5) / 2.0)
                self.assertEqual(card.primary_score, 1.0)
        first = self.score(Ranking, candidates, {"c": 3, "b": 1}, k=2)
        self.near(first.sub_scores["ndcg_at_k"], 1.0 / math.log2(3) / (3.0 + 1.0 / math.log2(3)))
        nothing = self.score(Ranking, candidates, {"a": 0})
        self.assertEqual(nothing.error_tags, ["missing_reference"])
        self.assertEqual(nothing.sub_scores["ndcg_at_k"], 0.0)
        self.assertEqual(self.score(Ranking, [], ["a"]).error_tags, ["missing_prediction"])
        for wrong in [{"a": -1}, [{"id": "a", "grade": "high"}], [{"id": "a", "grade": True}]]:
            with self.assertRaisesRegex(PluginError, "must be a number from 0 up"):
                self.score(Ranking, candidates, wrong)

    def test_a_ranking_of_prepared_texts(self) -> None:
        class Folded(Ranking):
            def prepare_text(self, text: str) -> str:
                return text.casefold()

        self.assertEqual(self.score(Folded, ["x", "PARIS"], ["Paris"]).primary_score, 0.5)
        self.assertEqual(self.score(Folded, ["true"], [True]).primary_score, 1.0)

    def test_words_that_are_not_allowed(self) -> None:
        for make, message in [
            (lambda: SequenceDistance(normalize="cer"), "allowed are anls, wer, raw"),
            (lambda: Likelihood(metric_type="x"), "allowed are nll, ppl, bits_per_byte"),
            (lambda: Ranking(metric_type="x"), "allowed are mrr, hit_at_k"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                make()


if __name__ == "__main__":
    unittest.main()
