"""Params that are one of a few words."""


def one_of(param: str, value: str, *allowed: str) -> str:
    """Returns the word in lower case. Raises ValueError, which the host shows, if it is not
    allowed."""
    word = value.lower()
    if word not in allowed:
        raise ValueError(f"the param '{param}' cannot be '{value}'; allowed are {', '.join(allowed)}")
    return word
