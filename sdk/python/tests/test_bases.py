import unittest
from typing import Any

from gage_sdk import (
    Comparison,
    Likelihood,
    MultiReference,
    NumericThreshold,
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
            ("1.25", None, "nll", 1.25, "loss"),
            (1.0, [-5.0], "nll", 1.0, "loss"),
            ("x", [-1, -2], "nll", 1.5, "token_logprobs"),
            (True, None, "nll", None, None),
            (None, [[-0.1, -0.2], [-0.3, [-0.4]]], "nll", 0.25, "token_logprobs"),
            (None, [{"logprob": -0.7}], "nll", 0.7, "token_logprobs"),
            (1.0, None, "PPL", e, "loss"),
            (1e6, None, "ppl", None, "loss"),
            ("nan", None, "nll", None, None),
            (None, None, "ppl", None, None),
        ]:
            with self.subTest(loss=loss, logprobs=logprobs, metric_type=metric_type):
                card = self.score(Likelihood, loss, logprobs, metric_type=metric_type)
                if score is None or card.primary_score is None:
                    self.assertEqual(card.primary_score, score)
                else:
                    self.assertAlmostEqual(card.primary_score, score, delta=1e-9)
                    self.assertEqual(list(card.sub_scores), [metric_type.lower()])
                self.assertEqual(card.detail.get("source"), source)

    def test_ranking(self) -> None:
        for candidates, targets, params, score, rank in [
            (["a", "b", "c"], ["a"], {}, 1.0, 1),
            (["a", "b", "c"], ["c", "b"], {}, 0.5, 2),
            (["a", "b", "c", "d"], ["d"], {"metric_type": "HIT@K", "k": 3}, 0.0, 4),
            (["a", "b", "c", "d"], ["d"], {"metric_type": "hit_at_k", "k": 4}, 1.0, 4),
            (["Paris"], ["paris"], {}, 0.0, None),
            ([1, 2], ["2"], {}, 0.5, 2),
            (["None"], [None], {}, 0.0, None),
            ("a", "a", {}, 1.0, 1),
            (None, ["a"], {}, 0.0, None),
            ([{"doc": "x"}, {"doc": "y"}], "y", {"candidate_key": "doc"}, 0.5, 2),
            ([{"id": 7}, {"id": 8}], [8], {}, 0.5, 2),
            ([None, {"text": "y"}], ["y"], {}, 0.5, 2),
        ]:
            with self.subTest(candidates=candidates, targets=targets):
                card = self.score(Ranking, candidates, targets, **params)
                self.assertEqual((card.primary_score, card.detail["rank"]), (score, rank))

    def test_words_that_are_not_allowed(self) -> None:
        for make, message in [
            (lambda: SequenceDistance(normalize="cer"), "allowed are anls, wer, raw"),
            (lambda: Likelihood(metric_type="x"), "allowed are nll, ppl"),
            (lambda: Ranking(metric_type="x"), "allowed are mrr, hit_at_k"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                make()


if __name__ == "__main__":
    unittest.main()
