"""The component of a preprocessor plugin."""

import json
from collections.abc import Callable
from typing import Any

from wit_world.exports import preprocessor as wit

from ..json_text import encode
from ..preprocessors import Row, Skip
from .batches import Members, each, member_spec, plugin_info, read_params

_MEMBERS = Members("preprocessor")


class Preprocessor:
    """The interface `preprocessor`."""

    def describe(self) -> Any:
        return plugin_info()

    def preprocessors(self) -> list[Any]:
        return [member_spec(member) for member in _MEMBERS]

    def check(self, preprocessor: str, params: str) -> None:
        _MEMBERS.check(preprocessor, params)

    def convert(self, preprocessor: str, params: str, rows: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            convert = _MEMBERS.named(preprocessor).function(read_params(params))
            return lambda row: _outcome(
                convert(Row(json.loads(row.body), dataset=row.dataset, index=row.index))
            )

        return each(rows, prepare)


def _outcome(sample: Any) -> Any:
    if isinstance(sample, Skip):
        return wit.Outcome_Skip(str(sample.reason))
    if isinstance(sample, dict):
        return wit.Outcome_Sample(encode(sample))
    raise TypeError(f"a preprocessor returns a dict or Skip, found {type(sample).__name__}")
