"""Preprocessors: functions, or classes with a method `convert`, that convert rows to Samples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import PluginError
from .members import Member, Target, register, worker


class Row(dict[str, Any]):
    """A raw row of a dataset: its body as a dict.

    `index` counts from 0 in file order, before any shuffling. Access to a missing key raises a
    PluginError of the kind `missing_field` that names the key.
    """

    def __init__(self, body: Mapping[str, Any], *, dataset: str = "", index: int = 0) -> None:
        super().__init__(body)
        self.dataset = dataset
        self.index = index

    def __missing__(self, key: str) -> Any:
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        raise PluginError("missing_field", f"the row has no '{key}'", pointer=pointer)


@dataclass(frozen=True, slots=True)
class Skip:
    """Skips a row on purpose, for the given reason."""

    reason: str


def preprocessor(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Turns a function, or a class with a method `convert`, into a preprocessor.

    It takes a Row and returns a Sample as a dict, or Skip. The host validates the Sample and adds
    a missing `id`. Names and params work as in `metric`.
    """

    def decorate(target: Target) -> Target:
        worker(target, "convert")
        register(
            Member(
                "preprocessor", target, version=version, name=name, params=params, method="convert"
            )
        )
        return target

    return decorate
