"""Share of the reference's words that the prediction contains."""

from gage_sdk import ScoreCard, Value, describe, metric, strip_thought_tags, words

describe(name="{{name}}", version="0.1.0")


# Positional arguments are inputs, which the host takes from the sample. `prediction` is
# model_output.answer and `reference` is sample.label unless the suite sets other paths. Declare
# the paths of other inputs: inputs={"context": Input("context_field", "sample.metadata.context")}.
# Keyword-only arguments are the params in a suite. Increase the version when a score could change.
@metric(
    version="1",
    values=[Value("score"), Value("found", maximum=None), Value("wanted", maximum=None)],
)
def {{snake}}(
    prediction: str | None, reference: str | None, *, case_sensitive: bool = False
) -> ScoreCard:
    """Share of the reference's distinct words that the prediction contains."""
    answer, reference = strip_thought_tags(prediction), reference or ""
    if not case_sensitive:
        answer, reference = answer.lower(), reference.lower()
    wanted = set(words(reference))
    if not wanted:
        return ScoreCard(explain="there is no reference")
    missing = wanted.difference(words(answer))
    return ScoreCard(
        1 - len(missing) / len(wanted),
        passed=not missing,
        sub_scores={"found": len(wanted) - len(missing), "wanted": len(wanted)},
        error_tags=["missing_words"] if missing else [],
    )
