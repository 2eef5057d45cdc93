"""The component of a metric plugin."""

from collections.abc import Callable
from typing import Any

from wit_world.exports import metric as wit

from ..members import Member
from .batches import Members, each, plugin_info, read_params
from .bindings import card_to_wit
from .values import input_specs, item_reader

_MEMBERS = Members("metric")


class Metric:
    """The interface `metric`."""

    def describe(self) -> Any:
        return plugin_info()

    def metrics(self) -> list[Any]:
        return [_spec(member) for member in _MEMBERS]

    def check(self, metric: str, params: str) -> None:
        _MEMBERS.check(metric, params)

    def score(self, metric: str, params: str, items: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            member = _MEMBERS.named(metric)
            score = member.function(read_params(params))
            read = item_reader(member.details.inputs)
            return lambda item: card_to_wit(score(*read(item)))

        return each(items, prepare)


def _spec(member: Member) -> Any:
    details = member.details
    values = [
        wit.ValueSpec(value.name, value.higher_is_better, value.minimum, value.maximum)
        for value in details.values
    ]
    return wit.MetricSpec(
        member.name,
        member.description,
        member.version,
        input_specs(details.inputs),
        values,
        details.default_aggregation,
        member.params_schema,
    )
