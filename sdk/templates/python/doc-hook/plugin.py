"""Adds the images that a row names."""

from typing import Any

from gage_sdk import MediaSource, PluginError, describe, doc_hook

describe(name="{{name}}", version="0.1.0")


# The kind is visual, audio or text; a hook of the kind text returns a list of Message. A source is
# a path below the dataset's folder, a data: URL or a digest. Increase the version when the hook's
# results could change.
@doc_hook("visual", version="1")
def {{snake}}(sample: dict[str, Any], *, field: str = "image") -> list[MediaSource]:
    """Shows the images that a field of the metadata names: one path, or a list of them."""
    found = (sample.get("metadata") or {}).get(field)
    paths = [] if found is None else found if isinstance(found, list) else [found]
    for path in paths:
        if not isinstance(path, str):
            message = f"an image must be a path, found {path!r}"
            raise PluginError("invalid_input", message, pointer=f"/metadata/{field}")
    return [MediaSource("image", path) for path in paths]
