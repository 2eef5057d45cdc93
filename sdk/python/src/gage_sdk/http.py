"""HTTP requests to granted hosts. Only backends may use this module; it needs `imports = ["http"]`
in gage-plugin.toml, and the grant `http` from the user.

A response with any status is a success. Redirects are returned, not followed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import PluginError
from .host_imports import call, find, missing, result
from .json_text import encode

_host = find("http")


@dataclass(frozen=True, slots=True)
class Secret:
    """The value of a granted secret. It never enters the plugin: the host inserts it."""

    name: str
    form: Literal["secret", "bearer"] = "secret"


def secret(name: str) -> Secret:
    """Returns a header value that is a granted secret."""
    return Secret(name)


def bearer(name: str) -> Secret:
    """Returns a header value that is the word `Bearer` and a granted secret."""
    return Secret(name, "bearer")


@dataclass(slots=True)
class Request:
    """A request. `timeout_ms` covers the whole exchange; 0 means the limit of the grant."""

    method: str
    url: str
    headers: Mapping[str, str | Secret] = field(default_factory=dict)
    body: bytes = b""
    timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """A server's response: header names in lower case, secrets redacted."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def text(self) -> str:
        """Returns the body as UTF-8; invalid bytes become the replacement character."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Parses the body as JSON; raises a PluginError of the kind `upstream` if it is not JSON.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise PluginError("upstream", f"the response is not JSON: {error}") from None


def post_json(
    url: str,
    value: Any,
    headers: Mapping[str, str | Secret] | None = None,
    timeout_ms: int = 0,
) -> Request:
    """Creates a POST request with a JSON body."""
    all_headers = {"content-type": "application/json", **(headers or {})}
    return Request("POST", url, all_headers, encode(value).encode(), timeout_ms)


def send(request: Request) -> Response:
    """Sends one request. No response raises a PluginError (`denied`, `limit_exceeded`,
    `upstream`)."""
    host = _bindings()
    return _response(call(host.send, _request(host, request)))


def send_all(requests: Sequence[Request]) -> list[Response | PluginError]:
    """Sends requests concurrently, as far as the grant allows; one result each, in order."""
    host = _bindings()
    outcomes = host.send_all([_request(host, request) for request in requests])
    return [result(outcome, _response) for outcome in outcomes]


def _bindings() -> Any:
    if _host is None:
        raise missing("http")
    return _host


def _request(host: Any, request: Request) -> Any:
    headers = [
        host.Header(name, _header_value(host, value)) for name, value in request.headers.items()
    ]
    return host.Request(request.method, request.url, headers, request.body, request.timeout_ms)


def _header_value(host: Any, value: str | Secret) -> Any:
    if isinstance(value, str):
        return host.HeaderValue_Plain(value)
    if value.form == "bearer":
        return host.HeaderValue_Bearer(value.name)
    return host.HeaderValue_Secret(value.name)


def _response(response: Any) -> Response:
    return Response(response.status, response.headers, response.body)
