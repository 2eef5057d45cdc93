"""Doc hooks: functions that add to a Sample what a row holds beside its text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .members import Member, Target, register, worker

HookKind = Literal["text", "visual", "audio"]
MediaKind = Literal["image", "audio", "video", "file"]


@dataclass(slots=True)
class MediaSource:
    """Where the host finds media: a path below the dataset's folder, a `data:` URL or a digest.

    `extra` holds what else the Sample's segment should have.
    """

    kind: MediaKind
    source: str
    extra: dict[str, Any] = field(default_factory=dict)


def doc_hook(
    kind: HookKind,
    *,
    version: str,
    name: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Callable[[Target], Target]:
    """Makes a doc hook of a function, or of a class with a method `apply`.

    It takes a Sample as a dict. A hook of the kind `text` returns a list of Message; one of the
    kind `visual` or `audio` a list of MediaSource. Names and params work as for `metric`.
    """
    if kind not in ("text", "visual", "audio"):
        raise ValueError(f"no kind of doc hook is called '{kind}'; allowed are text, visual, audio")

    def decorate(target: Target) -> Target:
        worker(target, "apply")
        register(
            Member(
                "doc-hook",
                target,
                version=version,
                name=name,
                params=params,
                method="apply",
                details=kind,
            )
        )
        return target

    return decorate
