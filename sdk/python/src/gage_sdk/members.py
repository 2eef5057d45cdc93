"""Members of a component, registered by the author's decorators and created from their params."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeVar

from .errors import PluginError
from .json_text import encode
from .schema import hints_of, schema_of_params

Kind = Literal[
    "metric",
    "preprocessor",
    "doc-hook",
    "aggregator",
    "judge",
    "extractor",
    "role-adapter",
    "backend",
]

Target = TypeVar("Target", bound=Callable[..., object])
"""A decorated function or class, which stays what it was."""

_PARAMETER = inspect.Parameter
_POSITIONAL = (_PARAMETER.POSITIONAL_ONLY, _PARAMETER.POSITIONAL_OR_KEYWORD)


class Member:
    """One metric, judge, …: its name, its params, and the decorated function or class.

    `method` names the method that does the work if the target is a class. `details` are specific
    to its kind.
    """

    def __init__(
        self,
        kind: Kind,
        target: Callable[..., object],
        *,
        version: str,
        name: str | None,
        params: Mapping[str, Any] | None,
        method: str | None = None,
        details: Any = None,
    ) -> None:
        self.kind: Kind = kind
        self.target = target
        self.name = name or (_snake(target.__name__) if inspect.isclass(target) else target.__name__)
        self.version = version
        self.details = details
        self._method = method
        where = f"{kind} '{self.name}'"
        self.description = first_paragraph(target.__doc__)
        if not self.description:
            raise TypeError(f"{where} has no doc string; its first paragraph is the description")
        parameters = _params_of(target)
        self._takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
        parameters = [one for one in parameters if one.kind is not one.VAR_KEYWORD]
        self._known = [one.name for one in parameters]
        self._required = [one.name for one in parameters if one.default is one.empty]
        if params is None:
            function = target.__init__ if inspect.isclass(target) else target
            hints = hints_of(function) if parameters else {}
            try:
                params = schema_of_params(parameters, hints)
            except TypeError as error:
                raise TypeError(f"{where}: {error}") from None
        self.params_schema = encode(dict(params))

    def create(self, params: dict[str, Any]) -> Any:
        """Returns an instance of the class, or the function with its params bound."""
        self._check(params)
        if not inspect.isclass(self.target):
            return partial(self.target, **params) if params else self.target
        try:
            return self.target(**params)
        except (TypeError, ValueError) as error:
            raise PluginError("invalid_config", str(error)) from error

    def function(self, params: dict[str, Any]) -> Callable[..., Any]:
        """Returns the function that is called for each item."""
        made: Callable[..., Any] = self.create(params)
        if self._method is not None and inspect.isclass(self.target):
            made = getattr(made, self._method)
        return made

    def _check(self, params: dict[str, Any]) -> None:
        for key in params:
            if key not in self._known and not self._takes_any:
                known = ", ".join(self._known) or "none"
                message = f"unknown param '{key}'; known are: {known}"
                raise PluginError("invalid_config", message, pointer=f"/{key}")
        for key in self._required:
            if key not in params:
                raise PluginError("invalid_config", f"the param '{key}' is missing")


_members: dict[Kind, dict[str, Member]] = {}


def register(member: Member) -> None:
    """Adds a member to the component."""
    of_kind = _members.setdefault(member.kind, {})
    if member.name in of_kind:
        raise ValueError(f"there are two of the kind {member.kind} with the name '{member.name}'")
    of_kind[member.name] = member


def members_of(kind: Kind) -> dict[str, Member]:
    """Returns the members of a kind, by name. Raises if there are none, or there is another kind.
    """
    others = [other for other in _members if other != kind]
    if others:
        raise ValueError(f"plugin.py holds a {others[0]}; gage-plugin.toml says kind = \"{kind}\"")
    if kind not in _members:
        decorator = kind.replace("-", "_")
        raise ValueError(f"plugin.py holds no {kind}; mark one with @gage_sdk.{decorator}(…)")
    return _members[kind]


def forget_members() -> None:
    """Unregisters all members, so that a test can import another plugin."""
    _members.clear()


def positional_parameters(target: Callable[..., object], method: str) -> list[inspect.Parameter]:
    """Returns the positional parameters of a function, or of a class's method."""
    function = worker(target, method)
    parameters = list(inspect.signature(function).parameters.values())
    positional = [one for one in parameters if one.kind in _POSITIONAL]
    return positional[1:] if inspect.isclass(target) else positional


def worker(target: Callable[..., object], method: str) -> Callable[..., object]:
    """Returns the function that does the work: the target, or its method with this name."""
    if not inspect.isclass(target):
        return target
    function: Callable[..., object] | None = getattr(target, method, None)
    if function is None:
        raise TypeError(f"the class {target.__name__} has no method '{method}'")
    return function


def require_methods(target: Callable[..., object], kind: Kind, *methods: str) -> None:
    """Raises TypeError unless the target is a class with these methods."""
    if not inspect.isclass(target):
        raise TypeError(f"a {kind} is a class with the methods {', '.join(methods)}")
    for method in methods:
        worker(target, method)


def first_paragraph(text: str | None) -> str:
    """Returns the first paragraph of a doc string, on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def _params_of(target: Callable[..., object]) -> list[inspect.Parameter]:
    if inspect.isclass(target):
        if target.__init__ is object.__init__:
            return []
        return [
            one
            for one in inspect.signature(target).parameters.values()
            if one.kind is not one.VAR_POSITIONAL
        ]
    parameters = inspect.signature(target).parameters.values()
    return [one for one in parameters if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
