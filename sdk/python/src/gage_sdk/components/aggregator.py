"""The component of an aggregator plugin."""

import json
from typing import Any

from wit_world.exports import aggregator as wit

from ..aggregators import Figure, ScoredRow
from ..errors import PluginError
from ..json_text import encode
from .batches import Members, member_spec, plugin_info, with_errors
from .bindings import card_from_wit, text

_MEMBERS = Members("aggregator")


class Aggregator:
    """The interface `aggregator`."""

    def describe(self) -> Any:
        info = plugin_info()
        merges = [member.name for member in _MEMBERS if hasattr(member.target, "merge")]
        if merges:
            info.extra = encode({**json.loads(info.extra), "merges": merges})
        return info

    def aggregators(self) -> list[Any]:
        return [member_spec(member) for member in _MEMBERS]

    def check(self, aggregator: str, params: str) -> None:
        _MEMBERS.check(aggregator, params)

    def fold(self, aggregator: str, params: str, state: bytes, rows: list[Any]) -> bytes:
        def fold() -> bytes:
            made = _MEMBERS.create(aggregator, params)
            current = _read(made, state)
            for row in rows:
                current = made.add(
                    current, ScoredRow(row.sample_id, row.weight, card_from_wit(row.card))
                )
            return encode(current).encode()

        folded: bytes = with_errors(fold)
        return folded

    def finish(self, aggregator: str, params: str, state: bytes) -> list[Any]:
        def finish() -> list[Any]:
            made = _MEMBERS.create(aggregator, params)
            return [_figure(figure) for figure in made.finish(_read(made, state))]

        figures: list[Any] = with_errors(finish)
        return figures

    def resample(
        self, aggregator: str, params: str, states: list[bytes], draws: list[list[int]]
    ) -> list[list[Any]]:
        def figures_of(made: Any, parsed: list[Any], draw: list[int]) -> list[Any]:
            merged = made.start()
            for state, times in zip(parsed, draw, strict=True):
                for _ in range(times):
                    merged = made.merge(merged, state)
            return [_figure(figure) for figure in made.finish(merged)]

        def resample() -> list[list[Any]]:
            made = _MEMBERS.create(aggregator, params)
            if not hasattr(made, "merge"):
                raise PluginError("unsupported", f"the aggregator '{aggregator}' has no merge")
            parsed = [_read(made, state) for state in states]
            return [figures_of(made, parsed, draw) for draw in draws]

        resampled: list[list[Any]] = with_errors(resample)
        return resampled


def _read(made: Any, state: bytes) -> Any:
    return json.loads(state) if state else made.start()


def _figure(figure: Any) -> Any:
    if not isinstance(figure, Figure):
        raise TypeError(f"finish returns a list of Figure, found {type(figure).__name__}")
    stderr = None if figure.stderr is None else float(figure.stderr)
    name = text(figure.name, "a figure's name")
    return wit.Figure(name, float(figure.value), stderr, int(figure.count))
