"""Who a plugin is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class About:
    """What `describe` was told."""

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
    """Says who the plugin is; call it once in plugin.py.

    The description is the first paragraph of plugin.py's doc string unless it is given. `wants`
    tells people what grants the plugin hopes for (`{"http": ["api.example.com"]}`); it gives
    nothing.
    """
    extra = {"license": license, "homepage": homepage, "authors": list(authors), "wants": wants}
    _about.name, _about.version, _about.description = name, version, description
    _about.extra = {key: value for key, value in extra.items() if value}


def about() -> About:
    """What `describe` was told last."""
    return _about
