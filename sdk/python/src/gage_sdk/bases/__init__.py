"""Base classes for metrics: subclass one, and mark the subclass with `@metric(…)`.

Their params are fields of a dataclass; a subclass that adds params is a dataclass too:

    @metric(version="1")
    @dataclass(kw_only=True)
    class Strict(SequenceDistance):
        "…"
        accents_count: bool = True
"""

from .comparison import Comparison
from .likelihood import Likelihood
from .multi_reference import MultiReference
from .numeric_threshold import NumericThreshold
from .ranking import Ranking
from .sequence_distance import SequenceDistance

__all__ = [
    "Comparison",
    "Likelihood",
    "MultiReference",
    "NumericThreshold",
    "Ranking",
    "SequenceDistance",
]
