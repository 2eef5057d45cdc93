"""Figures of a ranked list with graded entries; grade 0 means irrelevant."""

import math
from collections.abc import Sequence


def _dcg(grades: Sequence[float], k: int) -> float:
    """Discounted cumulative gain of the first `k`, with linear gain (Järvelin and Kekäläinen
    2002)."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:k], start=1))


def ndcg(grades: Sequence[float], ideal: Sequence[float], k: int) -> float:
    """Gain of the first `k` divided by that of the ideal order; 0 if there is no gain. `ideal`
    holds the grades of all targets, highest first."""
    best = _dcg(ideal, k)
    return _dcg(grades, k) / best if best > 0 else 0.0


def average_precision(grades: Sequence[float], targets: int) -> float:
    """Mean over all targets of the precision at their rank, 0 for targets that are not found. See
    Manning, Raghavan and Schütze 2008, section 8.4."""
    if targets == 0:
        return 0.0
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade > 0]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / targets
