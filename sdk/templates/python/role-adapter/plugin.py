"""Looks a document up, or asks the model of the role for one."""

from typing import Any

from gage_sdk import Generation, Message, PluginError, Prompt, describe, role_adapter

describe(name="{{name}}", version="0.1.0")


# Arguments of the constructor are the params in a suite. A dict returned by prepare or parse is
# available to later steps and metrics. Increase the version when it could change.
@role_adapter(version="1", name="{{snake}}")
class Documents:
    """Gives the document on the sample's topic."""

    def __init__(self, *, documents: dict[str, str] | None = None) -> None:
        self.documents = documents or {}

    def prepare(self, payload: dict[str, Any]) -> Prompt | dict[str, Any]:
        topic = (payload["sample"].get("metadata") or {}).get("topic")
        if topic is None:
            message = "the sample has no topic"
            raise PluginError("missing_field", message, pointer="/sample/metadata/topic")
        if topic in self.documents:
            return {"document": self.documents[topic]}
        return Prompt([Message("user", f"Explain in one sentence: {topic}")])

    def parse(self, payload: dict[str, Any], reply: Generation) -> dict[str, Any]:
        return {"document": reply.answer}
