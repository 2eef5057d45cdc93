"""Writes gage-host plugins in Python.

A plugin is one file, plugin.py, that marks functions and classes with the decorator of its kind:

    from gage_sdk import metric

    @metric(version="1")
    def same(prediction: str | None, reference: str | None) -> bool:
        "Checks that the prediction equals the reference."
        return prediction == reference

The decorated functions stay plain functions, so that tests call them directly. `gage-host plugin
build` makes the component. What a plugin may ask of the host is in the modules `log`, `media`,
`http` and `llm`.
"""

from .about import describe
from .aggregators import Figure, ScoredRow, aggregator
from .backends import GenerateRequest, LoglikelihoodRequest, backend
from .bases import (
    Comparison,
    Likelihood,
    MultiReference,
    NumericThreshold,
    Ranking,
    SequenceDistance,
)
from .doc_hooks import MediaSource, doc_hook
from .errors import PluginError
from .extractors import Answer, extractor
from .inputs import Input
from .judges import Case, Unparseable, judge
from .messages import ContinuationScore, Generation, Message, Prompt, message_text
from .metrics import Value, metric
from .preprocessors import Row, Skip, preprocessor
from .role_adapters import role_adapter
from .score_card import Score, ScoreCard
from .text import (
    as_number,
    flatten_numbers,
    levenshtein_distance,
    normalize_text,
    strip_thought_tags,
    words,
)

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Case",
    "Comparison",
    "ContinuationScore",
    "Figure",
    "GenerateRequest",
    "Generation",
    "Input",
    "Likelihood",
    "LoglikelihoodRequest",
    "MediaSource",
    "Message",
    "MultiReference",
    "NumericThreshold",
    "PluginError",
    "Prompt",
    "Ranking",
    "Row",
    "Score",
    "ScoreCard",
    "ScoredRow",
    "SequenceDistance",
    "Skip",
    "Unparseable",
    "Value",
    "aggregator",
    "as_number",
    "backend",
    "describe",
    "doc_hook",
    "extractor",
    "flatten_numbers",
    "judge",
    "levenshtein_distance",
    "message_text",
    "metric",
    "normalize_text",
    "preprocessor",
    "role_adapter",
    "strip_thought_tags",
    "words",
]
