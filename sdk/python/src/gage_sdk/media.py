"""Media of the items of the current call. Needs `imports = ["media"]` in gage-plugin.toml, and the
grant `media` from the user."""

from dataclasses import dataclass
from typing import Any

from .doc_hooks import MediaKind
from .host_imports import call, find, missing

_host = find("media")
_MOST_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Media:
    """Metadata of media: its digest (`sha256:…`), its kind, its type as in `image/png`, and its
    size in bytes."""

    digest: str
    kind: MediaKind
    media_type: str
    size: int


def look_up(digest: str) -> Media:
    """Returns the metadata of the media with this digest."""
    from .components.bindings import MEDIA_KIND_NAMES

    found = call(_bindings().find, digest)
    kind: Any = MEDIA_KIND_NAMES[found.kind]
    return Media(found.digest, kind, found.media_type, found.size)


def read(digest: str, offset: int = 0, length: int | None = None) -> bytes:
    """Reads bytes from `offset`: `length` of them, or fewer at the end; all without a length."""
    host = _bindings()
    parts: list[bytes] = []
    left = length
    while left is None or left > 0:
        part: bytes = call(host.read, digest, offset, min(left or _MOST_AT_ONCE, _MOST_AT_ONCE))
        if not part:
            break
        parts.append(part)
        offset += len(part)
        left = None if left is None else left - len(part)
    return b"".join(parts)


def _bindings() -> Any:
    if _host is None:
        raise missing("media")
    return _host
