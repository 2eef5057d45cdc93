"""Answers with the last message."""

from gage_sdk import GenerateRequest, PluginError, backend, describe

describe(name="{{name}}", version="0.1.0")


# Arguments of the constructor are the backend's config. To call a server or another model, add
# "http" or "llm" to imports in gage-plugin.toml and use `from gage_sdk import http, llm`. Define
# generate_all(requests) to send several concurrently. Increase the version when an answer could
# change.
@backend(version="1")
class Echo:
    """Answers with the last message."""

    def __init__(self, *, prefix: str = "") -> None:
        self.prefix = prefix

    def generate(self, request: GenerateRequest) -> str:
        if not request.messages:
            raise PluginError("invalid_input", "there is no message to echo")
        return self.prefix + request.messages[-1].content
