import math
import random
import unittest

from gage_sdk import (
    as_number,
    flatten_numbers,
    levenshtein_distance,
    normalize_text,
    strip_thought_tags,
    words,
)


class Thoughts(unittest.TestCase):
    def test_stripping(self) -> None:
        for text, expected in [
            (None, ""),
            ("  x  ", "x"),
            ("a < b", "a < b"),
            ("<think>a</think>b", "b"),
            ("<think>a\nb</think>\n\n c ", "c"),
            ("x<think>a</think>y<think>b</think>z", "xyz"),
            ("<think></think>x", "x"),
            ("<think>中</think>文", "文"),
            ("<Thinking>a</THINKING>b", "b"),
            ("<thought>a</thought><reflection>b</reflection>c", "c"),
            ("a</think>b", "b"),
            ("x <think>a</think> y</think> b", "b"),
            ("<think>a<think>b</think>c</think>d", "d"),
            ("<think>a</thought>b</think>c", "c"),
            ("x<think>a", "x"),
            ("<think>a", ""),
            ("<thinker>a</thinker>", "<thinker>a</thinker>"),
        ]:
            with self.subTest(text):
                self.assertEqual(strip_thought_tags(text), expected)


class Normalizing(unittest.TestCase):
    def test_options(self) -> None:
        for text, options, expected in [
            ("  A  b\tC\n", {}, "a  b\tc"),
            ("  A  b\tC\n", {"case_sensitive": True}, "A  b\tC"),
            ("  A  b\tC\n", {"strip": False, "collapse_whitespace": True}, " a b c "),
            ("\u3000中 文\u3000", {"collapse_whitespace": True}, "中 文"),
            ("a\u200bb", {"collapse_whitespace": True}, "a\u200bb"),
            ("a\x1cb", {"strip": False, "collapse_whitespace": True}, "a b"),
            ("ΑΣ ΑΣ.", {}, "ας ας."),
            ("İ", {}, "i\u0307"),
        ]:
            with self.subTest(text):
                self.assertEqual(normalize_text(text, **options), expected)

    def test_words(self) -> None:
        self.assertEqual(words(" a\u00a0b\u3000 c\n"), ["a", "b", "c"])
        self.assertEqual(words(" "), [])


class Distance(unittest.TestCase):
    def test_known_distances(self) -> None:
        for left, right, expected in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("北京", "东京", 1),
            ("👨‍👩‍👧", "👨‍👩‍👦", 1),
            ("ab", "ba", 2),
            ("intention", "execution", 5),
            (" a", "a ", 2),
            (["the", "cat"], ["the", "black", "cat"], 1),
        ]:
            with self.subTest(left=left, right=right):
                self.assertEqual(levenshtein_distance(left, right), expected)

    def test_against_the_table(self) -> None:
        source = random.Random(1)
        for _ in range(300):
            left, right = ("".join(source.choices("abc", k=source.randrange(90))) for _ in "12")
            self.assertEqual(levenshtein_distance(left, right), table_distance(left, right))


def table_distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, start=1):
        previous, row = row, [i]
        for j, other in enumerate(right, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (one != other)))
    return row[-1]


class Numbers(unittest.TestCase):
    def test_flattening(self) -> None:
        for value, expected in [
            (None, []),
            (1, [1.0]),
            ("x", []),
            ([None, 1, True], [1.0]),
            ({"a": 1}, []),
            (["1e3"], [1000.0]),
            ([[-0.1, [-0.2]], {"logprob": -0.3}, {"value": [-0.4]}], [-0.1, -0.2, -0.3, -0.4]),
            ({"token_logprob": -1, "value": 5}, [-1.0]),
        ]:
            with self.subTest(value=value):
                self.assertEqual(flatten_numbers(value), expected)
        self.assertTrue(math.isnan(flatten_numbers("nan")[0]))

    def test_texts_that_spell_numbers(self) -> None:
        for value, expected in [(" 1.5 ", 1.5), ("1_000", None), (True, None), ([1], None), (2, 2.0)]:
            with self.subTest(value=value):
                self.assertEqual(as_number(value), expected)


if __name__ == "__main__":
    unittest.main()
