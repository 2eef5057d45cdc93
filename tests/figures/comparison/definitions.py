"""Figures that are published as a formula or a script and not as a package, written again from their definitions."""

import re
import string
from collections import Counter
from math import comb

import numpy as np


class Squad:
    """Exact match and F1 of SQuAD.

    Rajpurkar et al. 2016 (`evaluate-v1.1.py`) and 2018 (`evaluate-v2.0.py`): lower case, without ASCII punctuation,
    without the articles, and white space collapsed. The best reference counts.
    """

    def __init__(self, version):
        self.is_second = version == "2.0"

    @staticmethod
    def normalized(text):
        """Returns the words that count."""
        text = "".join(one for one in text.lower() if one not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    def references(self, references):
        """Returns the references that count. In version 2.0 a question without any has the empty answer."""
        if not self.is_second:
            return references
        return [each for each in references if self.normalized(each)] or [""]

    def exact(self, answer, references):
        """Returns 1 if the answer is one of the references, else 0."""
        found = self.normalized(answer)
        return float(any(found == self.normalized(each) for each in self.references(references)))

    def f1(self, answer, references):
        """Returns the best F1 of the words."""
        found = self.normalized(answer)
        return max(self.f1_of_one(found, self.normalized(each)) for each in self.references(references))

    def f1_of_one(self, found, expected):
        """Returns F1 of two lists of words."""
        if self.is_second and not (found and expected):
            return float(found == expected)
        shared = sum((Counter(found) & Counter(expected)).values())
        if shared == 0:
            return 0.0
        precision, recall = shared / len(found), shared / len(expected)
        return 2 * precision * recall / (precision + recall)


def edits(left, right):
    """Returns Levenshtein's distance."""
    left, right = (np.array([ord(one) for one in text]) for text in (left, right))
    columns = np.arange(len(right) + 1)
    row = columns
    for at, one in enumerate(left, 1):
        replaced = row[:-1] + (right != one)
        best = np.concatenate(([at], np.minimum(row[1:] + 1, replaced)))
        # An insertion costs one more than the column before.
        row = np.minimum.accumulate(best - columns) + columns
    return int(row[-1])


def anls(answer, references, is_script):
    """Returns the similarity of Biten et al. 2019 (Scene Text Visual Question Answering) to the best reference.

    Texts are in lower case and with single blanks, and a similarity below 0.5 is 0. The script of the DocVQA challenge
    divides by the length that the texts had before. The article divides by the length of the compared texts.
    """
    found = " ".join(answer.strip().lower().split())
    distances = []
    for reference in references:
        expected = " ".join(reference.strip().lower().split())
        texts = (answer.upper(), reference.upper()) if is_script else (found, expected)
        longer = max(map(len, texts))
        distances.append(edits(found, expected) / longer if longer else 0.0)
    similarity = 1 - min(distances)
    return similarity if similarity >= 0.5 else 0.0


def pass_at_k(attempts, passes, k):
    """Returns 1 - C(n - c, k) / C(n, k), or none if there are fewer attempts than k.

    Chen et al. 2021, Evaluating Large Language Models Trained on Code.
    """
    if k > attempts:
        return None
    return 1 - comb(attempts - passes, k) / comb(attempts, k)


def calibration_error(confidences, correct, groups):
    """Returns the expected calibration error of Naeini et al. 2015 over groups of indices."""
    gaps = (abs(sum(correct[at] for at in group) - sum(confidences[at] for at in group)) for group in groups)
    return sum(gaps) / len(confidences)


def equal_width(confidences, bins):
    """Returns the indices in each of M bins: above m / M, and at most (m + 1) / M (Guo et al. 2017)."""
    groups = [[] for _ in range(bins)]
    for index, value in enumerate(confidences):
        at = next(at for at in range(bins) if value <= (at + 1) / bins)
        groups[at].append(index)
    return groups


def equal_mass(confidences, correct, bins):
    """Returns the indices in each of some bins of equal size, in order of confidence (Nixon et al. 2019)."""
    order = sorted(range(len(confidences)), key=lambda at: (confidences[at], correct[at]))
    size, larger = divmod(len(order), bins)
    starts = [at * size + min(at, larger) for at in range(bins + 1)]
    return [order[start:end] for start, end in zip(starts, starts[1:])]
