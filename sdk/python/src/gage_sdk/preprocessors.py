"""Preprocessors: functions, or classes with a method `convert`, that turn raw rows into Samples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import PluginError
from .members import Member, Target, register, worker


class Row(dict[str, Any]):
    """A raw row of a dataset: its body as a dict.

    `index` counts from 0 in the order of the file, before any shuffling. A key that the row does
    not have raises a PluginError of the kind `missing_field` that names it.
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
    """Leaves a row out on purpose, and says why."""

    reason: str


def preprocessor(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Makes a preprocessor of a function, or of a class with a method `convert`.

    It takes a Row and returns a Sample as a dict, or Skip. The host validates the Sample and fills
    in `id` where it is missing. Names and params work as for `metric`.
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
