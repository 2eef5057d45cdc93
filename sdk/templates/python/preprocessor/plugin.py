"""Turns rows with a question and an answer into Samples."""

from typing import Any

from gage_sdk import Row, Skip, describe, preprocessor

describe(name="{{name}}", version="0.1.0")


# Keyword-only arguments are the params in a suite. Return the Sample, or Skip(…) to skip a row on
# purpose; row["x"] reports a row that has no "x". Increase the version when a Sample could change.
@preprocessor(version="1")
def {{snake}}(
    row: Row, *, question_field: str = "question", answer_field: str = "answer"
) -> dict[str, Any] | Skip:
    """Makes a Sample of a question and its answer."""
    question = str(row[question_field] or "")
    if not question.strip():
        return Skip("the question is empty")
    return {
        "schema_version": "v1",
        "messages": [{"role": "user", "content": [{"type": "text", "text": question}]}],
        # All correct answers; the first is the Sample's label.
        "references": [{"answer": [{"type": "text", "text": str(row[answer_field])}]}],
    }
