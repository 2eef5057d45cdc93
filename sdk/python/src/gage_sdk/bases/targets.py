"""Targets of a ranked list."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from ..errors import PluginError
from ..json_text import as_text, encode, plain_number

_TEXT_KEYS = ("text", "id", "label")
_GRADE_KEYS = ("grade", "relevance", "gain")
_MISSING = object()


def spellings_of(value: object, key: str | None = None) -> Sequence[str]:
    """Returns the texts that identify a candidate or target; for an object, those under a key.
    Empty if there is nothing to match."""
    if isinstance(value, dict):
        keys = _TEXT_KEYS if key is None else (key,)
        value = next((value[name] for name in keys if name in value), None)
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true", "True", "TRUE") if value else ("false", "False", "FALSE")
    return (as_text(plain_number(value) if isinstance(value, float) else value),)


class Targets:
    """Targets of a sample with their grades, or 1 if they have none."""

    def __init__(self, value: object, prepare_text: Callable[[str], str]) -> None:
        self.is_graded = False
        self._prepare_text = prepare_text
        self._by_text: dict[str, tuple[int, float]] = {}
        self._grades: list[float] = []
        if isinstance(value, dict) and _are_grades(value):
            for text, grade in value.items():
                self._add((text,), grade)
        else:
            for item in value if isinstance(value, list) else [value]:
                self._add_item(item)

    def grades_of(self, candidates: Iterable[Sequence[str]]) -> list[float]:
        """Returns the grade of each candidate, identified by its spellings: 0 if it is not a
        target or occurred earlier."""
        seen: set[int] = set()
        grades = []
        for spellings in candidates:
            texts = map(self._prepare_text, spellings)
            found = next((self._by_text[text] for text in texts if text in self._by_text), None)
            if found is None or found[0] in seen:
                grades.append(0.0)
            else:
                seen.add(found[0])
                grades.append(found[1])
        return grades

    def ideal(self) -> list[float]:
        """Returns the grades above 0, highest first."""
        return sorted((grade for grade in self._grades if grade > 0), reverse=True)

    def _add_item(self, item: object) -> None:
        grade: object = _MISSING
        if isinstance(item, dict):
            grade = next((item[name] for name in _GRADE_KEYS if name in item), _MISSING)
        spellings = spellings_of(item)
        if spellings:
            self._add(spellings, grade)
        elif isinstance(item, dict):
            # An object without any of the keys is represented by its JSON.
            self._add((encode(item),), _MISSING)

    def _add(self, spellings: Sequence[str], grade: object) -> None:
        number = 1.0
        if grade is not _MISSING:
            self.is_graded = True
            if not _is_number(grade) or not grade >= 0:
                raise PluginError(
                    "invalid_input",
                    f"the grade of a target must be a number from 0 up, not {encode(grade)}",
                )
            number = float(grade)
        new = [text for text in map(self._prepare_text, spellings) if text not in self._by_text]
        # A repeated target has its first grade.
        for text in new:
            self._by_text[text] = (len(self._grades), number)
        if new:
            self._grades.append(number)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_grades(value: dict[str, object]) -> bool:
    """Returns whether an object holds grades by text, rather than a single target (`{"id": 7}`)."""
    return (
        bool(value)
        and all(map(_is_number, value.values()))
        and not all(key in _TEXT_KEYS for key in value)
    )
