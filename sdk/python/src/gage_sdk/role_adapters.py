"""Role adapters: classes that stand between a step and the model of its role."""

from collections.abc import Callable, Mapping
from typing import Any

from .members import Member, Target, register, require_methods


def role_adapter(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Makes a role adapter of a class with two methods.

    `prepare(payload)` gets a dict with `sample` and what earlier steps gave under their names. It
    returns a Prompt for the role's model, or a dict, which is the output itself without a model.
    `parse(payload, reply)` gets the Generation and returns the output as a dict, which later steps
    and metrics read. Names and params work as for the class form of `metric`.
    """

    def decorate(target: Target) -> Target:
        require_methods(target, "role-adapter", "prepare", "parse")
        register(Member("role-adapter", target, version=version, name=name, params=params))
        return target

    return decorate
