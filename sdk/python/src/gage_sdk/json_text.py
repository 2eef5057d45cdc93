"""JSON at the boundary between host and plugin."""

import json
from typing import Any

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""Writes compact JSON; numbers that are not finite are an error."""


def decode_object(text: str) -> dict[str, Any]:
    """Parses an object; the common empty one without a parser."""
    return {} if text in ("{}", "") else json.loads(text)


def encode_object(value: dict[str, Any]) -> str:
    """Writes an object; the common empty one without an encoder."""
    if not value:
        return "{}"
    if not isinstance(value, dict):
        raise TypeError(f"expected a dict, found {type(value).__name__}")
    return encode(value)


def as_text(value: object) -> str:
    """Converts a value to text: strings unchanged, everything else as JSON."""
    return value if isinstance(value, str) else encode(value)


def plain_number(number: float) -> int | float:
    """Converts to an integer if a float represents it exactly: 3 rather than 3.0."""
    is_whole = isinstance(number, float) and number.is_integer() and abs(number) < 2.0**53
    return int(number) if is_whole else number
