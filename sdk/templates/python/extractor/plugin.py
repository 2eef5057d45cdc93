"""Finds the last number in what a model wrote."""

import re

from gage_sdk import Answer, describe, extractor

describe(name="{{name}}", version="0.1.0")

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


# The first argument is the text to search: model_output.answer unless the suite sets text_field.
# Keyword-only arguments are the params in a suite. There are Answer.choice, .number, .items and
# .text. Increase the version when an answer could change.
@extractor(version="1")
def {{snake}}(text: str | None) -> Answer | None:
    """The last number in the text."""
    found = NUMBER.findall(text or "")
    return Answer.number(float(found[-1]), evidence=found[-1]) if found else None
