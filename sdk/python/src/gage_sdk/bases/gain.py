"""Figures of a ranked list whose entries carry grades, 0 for what is of no use."""

import math
from collections.abc import Sequence


def _dcg(grades: Sequence[float], k: int) -> float:
    """Discounted cumulative gain of the first `k`, with linear gain (Järvelin and Kekäläinen
    2002)."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:k], start=1))


def ndcg(grades: Sequence[float], ideal: Sequence[float], k: int) -> float:
    """The gain of the first `k` over that of the best order, 0 where there is nothing to gain.
    `ideal` holds the grades of all targets, highest first."""
    best = _dcg(ideal, k)
    return _dcg(grades, k) / best if best > 0 else 0.0


def average_precision(grades: Sequence[float], targets: int) -> float:
    """The mean over all targets of the precision at the rank of each, 0 for those that are not
    found (Manning, Raghavan and Schütze 2008, section 8.4)."""
    if targets == 0:
        return 0.0
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade > 0]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / targets
