"""The exports of the component."""

import json
import os
from typing import Any

import wit_world
from gage_sdk.components import metric

import candidate

# Enough for all solutions of HumanEval. Fuel runs out before the time does, so a timeout is reproducible.
LIMITS = {"fuel_per_item": 10_000_000_000, "wall_time": 60}


class Metric(metric.Metric):
    """The interface `metric`. A call has one sample, so that each candidate has interpreters of its own."""

    def describe(self) -> Any:
        info = super().describe()
        info.extra = json.dumps({**json.loads(info.extra), "runs_programs": ["python_tests"], "limits": LIMITS})
        return info

    def score(self, metric: str, params: str, items: list[Any]) -> list[Any]:
        if len(items) > 1:
            # A host that ignores `runs_programs` repeats the call with fewer samples.
            os._exit(1)
        return super().score(metric, params, items)


class WitWorld(wit_world.WitWorld):
    """The functions of the world."""

    def answer(self, request: str) -> str:
        return candidate.answer(request)
