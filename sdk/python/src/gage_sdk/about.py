"""Description of a plugin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class About:
    """Arguments of the last `describe` call."""

    name: str = "plugin"
    version: str = "0.0.0"
    description: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


_about = About()


def describe(
    *,
    name: str,
    version: str,
    description: str = "",
    license: str | None = None,
    homepage: str | None = None,
    authors: Sequence[str] = (),
    wants: Mapping[str, Any] | None = None,
) -> None:
    """Describes the plugin; call it once in plugin.py.

    The default description is the first paragraph of plugin.py's doc string. `wants` lists
    requested grants for people to read (`{"http": ["api.example.com"]}`); it does not grant
    anything.
    """
    extra = {"license": license, "homepage": homepage, "authors": list(authors), "wants": wants}
    _about.name, _about.version, _about.description = name, version, description
    _about.extra = {key: value for key, value in extra.items() if value}


def about() -> About:
    """Returns the arguments of the last `describe` call."""
    return _about
