"""Doc hooks: functions that add a row's content other than its text to a Sample."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .members import Member, Target, register, worker

HookKind = Literal["text", "visual", "audio"]
MediaKind = Literal["image", "audio", "video", "file"]


@dataclass(slots=True)
class MediaSource:
    """Location of media for the host: a path below the dataset's folder, a `data:` URL or a
    digest.

    `extra` holds additional keys for the Sample's segment.
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
    """Turns a function, or a class with a method `apply`, into a doc hook.

    It takes a Sample as a dict. A hook of the kind `text` returns a list of Message; one of the
    kind `visual` or `audio` returns a list of MediaSource. Names and params work as in `metric`.
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
