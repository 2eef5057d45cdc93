"""Helpers that normalize and compare texts."""

import re
from collections.abc import Hashable, Mapping, Sequence

_THOUGHT_TAG = re.compile(r"<(/?)(think|thinking|thought|reflection)\s*>", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"\s+")
_NUMBER_KEYS = ("logprob", "token_logprob", "value")


def normalize_text(
    text: str, case_sensitive: bool = False, strip: bool = True, collapse_whitespace: bool = False
) -> str:
    """Normalizes a text for comparison: lower case, trimmed, and optionally with single blanks in
    place of runs of white space."""
    if collapse_whitespace:
        text = " ".join(text.split()) if strip else _WHITE_SPACE.sub(" ", text)
    elif strip:
        text = text.strip()
    return text if case_sensitive else text.lower()


def strip_thought_tags(text: str | None) -> str:
    """Removes a reasoning model's thoughts: `<think>…</think>`, also `<thinking>`, `<thought>` and
    `<reflection>`, in any case, and white space at the ends.

    A closing tag without an opening one removes everything up to it, since chat templates put the
    opening tag into the prompt. An unclosed opening tag removes the rest.
    """
    if not text:
        return ""
    if "<" not in text:
        return text.strip()
    kept: list[str] = []
    position = 0
    open_tag: str | None = None
    for tag in _THOUGHT_TAG.finditer(text):
        name = tag[2].lower()
        if open_tag is not None:
            if tag[1] and name == open_tag:
                open_tag, position = None, tag.end()
        elif tag[1]:
            kept.clear()
            position = tag.end()
        else:
            kept.append(text[position : tag.start()])
            open_tag = name
    if open_tag is None:
        kept.append(text[position:])
    return "".join(kept).strip()


def words(text: str) -> list[str]:
    """Splits a text at Unicode white space."""
    return text.split()


def levenshtein_distance(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Counts the insertions, deletions and substitutions that turn one sequence into the other.

    A text is a sequence of code points; lists of words work too.
    """
    if left == right:
        return 0
    pattern, other = (left, right) if len(left) <= len(right) else (right, left)
    if not pattern:
        return len(other)
    # Myers' bit-parallel method: one integer holds a whole column of the table, with one bit per
    # element of the pattern, so that the work is one pass over the other sequence.
    occurrences: dict[Hashable, int] = {}
    for index, element in enumerate(pattern):
        occurrences[element] = occurrences.get(element, 0) | 1 << index
    everything = (1 << len(pattern)) - 1
    last = 1 << len(pattern) - 1
    increases, decreases, distance = everything, 0, len(pattern)
    for element in other:
        equal = occurrences.get(element, 0)
        vertical = equal | decreases
        horizontal = (((equal & increases) + increases) ^ increases) | equal
        up = decreases | (everything & ~(horizontal | increases))
        down = increases & horizontal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up = up << 1 | 1
        down <<= 1
        increases = (down | ~(vertical | up)) & everything
        decreases = up & vertical & everything
    return distance


def as_number(value: object) -> float | None:
    """Converts numbers, and texts that spell one, to a number; otherwise None. Rejects booleans."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and "_" not in value:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def flatten_numbers(value: object) -> list[float]:
    """Collects the numbers in nested lists, in order.

    An object counts by the first of its keys `logprob`, `token_logprob` and `value`. Texts that
    spell a number count; booleans and everything else are omitted.
    """
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flatten_numbers(item)]
    if isinstance(value, Mapping):
        return next((flatten_numbers(value[key]) for key in _NUMBER_KEYS if key in value), [])
    number = as_number(value)
    return [] if number is None else [number]
