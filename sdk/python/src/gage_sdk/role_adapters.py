"""Role adapters: classes that mediate between a step and the model of its role."""

from collections.abc import Callable, Mapping
from typing import Any

from .members import Member, Target, register, require_methods


def role_adapter(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Turns a class with two methods into a role adapter.

    `prepare(payload)` gets a dict with `sample` and results of earlier steps under their names. It
    returns a Prompt for the role's model, or a dict, which is the output itself without a model
    call. `parse(payload, reply)` gets the Generation and returns the output as a dict for later
    steps and metrics. Names and params work as in the class form of `metric`.
    """

    def decorate(target: Target) -> Target:
        require_methods(target, "role-adapter", "prepare", "parse")
        register(Member("role-adapter", target, version=version, name=name, params=params))
        return target

    return decorate
