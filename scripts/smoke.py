"""Check a deployment over HTTP, as a client sees it.

::

    make smoke ENDPOINT=https://ID.execute-api.REGION.amazonaws.com/mcp

    python -m scripts.smoke https://mcp.example.com/mcp

Prints PASS, FAIL or SKIP with a reason for each check; the status is 0 when none has failed. It needs nothing but
Python. The environment variables SMOKE_KEY, a key of Alpha Vantage, and SMOKE_TOKEN, an access token of the issuer, are
sent where they are needed, to the endpoint alone, and never printed. Without a key the call of a tool is skipped where
the deployment has none.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PROTOCOL = "2025-06-18"

OTHER_ORIGIN = "https://smoke.invalid"
"""Reserved by RFC 2606: no deployment allows it by name."""

OVERSIZED_BYTES = 7_000_000
"""More than the 6 MB that Lambda takes."""

TIMEOUT_S = 35
"""API Gateway answers within 30 seconds."""


class CheckFailed(Exception):
    """The deployment did not answer as it should; the text states how."""


class Skipped(Exception):
    """The check does not apply, or something for it was not given."""


class Answer(NamedTuple):
    """A response: status, headers with names in lower case, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            CheckFailed: It is something else.
        """
        try:
            return json.loads(self.body)
        except ValueError:
            raise CheckFailed(f"HTTP {self.status} without JSON") from None


class Endpoint:
    """Send requests to one endpoint."""

    def __init__(self, url: str, key: str = "", token: str = "") -> None:
        self._url = urlsplit(url)
        self.path = self._url.path or "/mcp"
        self.key, self.token = key, token
        self._id = 0

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send one request on a connection of its own.

        Raises:
            CheckFailed: There was no response.
        """
        https = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
        connection = kind(self._url.netloc, timeout=TIMEOUT_S)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # a refused body; the response may be there already
                connection.request(method, path, body, names)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise CheckFailed(f"no response: {error or type(error).__name__}") from None
        finally:
            connection.close()

    def post(self, rpc: str, params: Mapping[str, Any], with_token: bool = True, **headers: str) -> Answer:
        """Send one JSON-RPC request."""
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": rpc, "params": params}
        headers |= {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        if rpc != "initialize":
            headers["mcp_protocol_version"] = PROTOCOL
        if self.token and with_token:
            headers["authorization"] = f"Bearer {self.token}"
        return self.send("POST", self.path, json.dumps(message).encode(), **headers)

    def result(self, rpc: str, params: Mapping[str, Any], **headers: str) -> Any:
        """Return the result of one JSON-RPC request.

        Raises:
            CheckFailed: It was answered with an error.
            Skipped: It needs an access token.
        """
        answer = self.post(rpc, params, **headers)
        if answer.status == 401 and not self.token:
            raise Skipped("needs an access token: set SMOKE_TOKEN")
        if answer.status != 200:
            raise CheckFailed(f"HTTP {answer.status}")
        message = answer.json()
        if "result" not in message:
            raise CheckFailed(f"error {message.get('error', {}).get('message', 'without a message')}")
        return message["result"]

    def call(self, tool: str, arguments: Mapping[str, Any], **headers: str) -> Any:
        """Return the structured result of a meta-tool, without checking whether it is an error."""
        return self.result("tools/call", {"name": tool, "arguments": arguments}, **headers)


def expect(condition: object, otherwise: str) -> None:
    """Raise :class:`CheckFailed` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(otherwise)


def check_initialize(endpoint: Endpoint) -> str:
    """Negotiate a version, as each client does first."""
    client = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "smoke", "version": "1"}}
    result = endpoint.result("initialize", client)
    expect(result.get("protocolVersion") == PROTOCOL, f"version {result.get('protocolVersion')}")
    return f"{result['serverInfo']['name']} {result['serverInfo']['version']}, protocol {PROTOCOL}"


def check_tools(endpoint: Endpoint) -> str:
    """List the tools, among which are the three meta-tools."""
    names = {tool["name"] for tool in endpoint.result("tools/list", {})["tools"]}
    missing = {"TOOL_LIST", "TOOL_GET", "TOOL_CALL"} - names
    expect(not missing, f"no {', '.join(sorted(missing))}")
    return f"{len(names)} tools"


def check_search(endpoint: Endpoint) -> str:
    """Search the catalog."""
    result = endpoint.call("TOOL_LIST", {"query": "latest price of a stock"})
    expect(not result.get("isError"), _error_of(result))
    expect("GLOBAL_QUOTE" in json.dumps(result), "GLOBAL_QUOTE is not among the matches")
    return "finds GLOBAL_QUOTE"


def check_schema(endpoint: Endpoint) -> str:
    """Get the schema of a tool."""
    result = endpoint.call("TOOL_GET", {"tool_name": "GLOBAL_QUOTE"})
    expect(not result.get("isError"), _error_of(result))
    expect("symbol" in json.dumps(result), "the schema has no symbol")
    return "GLOBAL_QUOTE has its parameters"


def check_call(endpoint: Endpoint) -> str:
    """Call a tool, with the key if there is one."""
    key = {"x_api_key": endpoint.key} if endpoint.key else {}
    arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
    result = endpoint.call("TOOL_CALL", arguments, **key)
    if result.get("isError"):
        if "AUTH_REQUIRED" in json.dumps(result) and not endpoint.key:
            raise Skipped("the deployment has no key, and SMOKE_KEY is not set")
        raise CheckFailed(_error_of(result))
    expect("price" in json.dumps(result), "the answer has no price")
    return "GLOBAL_QUOTE of IBM has a price"


def check_health(endpoint: Endpoint) -> str:
    """Read the state, which must not contain anything secret."""
    answer = endpoint.send("GET", _sibling(endpoint.path, "health"))
    expect(answer.status == 200, f"HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}")
    state = answer.json()
    expect(state.get("status") == "ok", f"status {state.get('status')}")
    expect(not endpoint.key or endpoint.key.encode() not in answer.body, "the state contains the key")
    return f"{state['catalog']['tools']} tools, catalog {state['catalog']['sha256'][:12]}"


def check_authorization(endpoint: Endpoint) -> str:
    """Send no token: an open endpoint answers, another one states where tokens are issued."""
    answer = endpoint.post("tools/list", {}, with_token=False)
    path = f"/.well-known/oauth-protected-resource{endpoint.path}"
    metadata = endpoint.send("GET", path)
    if answer.status == 200:
        expect(metadata.status == 404, f"no token is required, but {path} answers {metadata.status}")
        expect(not endpoint.token, "a token was given, but none is required")
        return "no token is required"
    expect(answer.status == 401, f"HTTP {answer.status}")
    # Some gateways rename the header; clients then use the well-known path.
    header = answer.headers.get("www-authenticate", "")
    expect(header.startswith("Bearer ") and "resource_metadata=" in header, "401 without WWW-Authenticate: Bearer")
    expect(metadata.status == 200, f"{path} answers {metadata.status}")
    found = metadata.json()
    expect(found.get("authorization_servers"), "the metadata has no authorization_servers")
    expect(urlsplit(found.get("resource", "")).path == endpoint.path, f"resource is {found.get('resource')}")
    forged = endpoint.post("tools/list", {}, with_token=False, authorization="Bearer e30.e30.e30")
    expect(forged.status == 401, f"a forged token is answered with {forged.status}")
    return f"tokens of {found['authorization_servers'][0]}"


def check_cors(endpoint: Endpoint) -> str:
    """Send a preflight from a page that is not allowed."""
    preflight = {"origin": OTHER_ORIGIN, "access_control_request_method": "POST"}
    allowed = endpoint.send("OPTIONS", endpoint.path, **preflight).headers.get("access-control-allow-origin")
    if allowed == "*":
        raise Skipped("AllowedOrigins is *")
    expect(allowed != OTHER_ORIGIN, f"{OTHER_ORIGIN} may call")
    return "other origins may not call"


def check_size(endpoint: Endpoint) -> str:
    """Send more than the endpoint takes."""
    answer = endpoint.send("POST", endpoint.path, b"a" * OVERSIZED_BYTES, content_type="application/json")
    expect(answer.status == 413, f"HTTP {answer.status}")
    return "413"


def check_paths(endpoint: Endpoint) -> str:
    """Request a path that does not exist."""
    status = endpoint.send("GET", "/smoke-no-such-path").status
    expect(status == 404, f"HTTP {status}")
    return "404 for others"


CHECKS: Mapping[str, Callable[[Endpoint], str]] = {
    "health": check_health,
    "authorization": check_authorization,
    "initialize": check_initialize,
    "tools/list": check_tools,
    "TOOL_LIST": check_search,
    "TOOL_GET": check_schema,
    "TOOL_CALL": check_call,
    "CORS": check_cors,
    "oversized": check_size,
    "paths": check_paths,
}


def run(endpoint: Endpoint, write: Callable[[str], None]) -> bool:
    """Run all checks, write a line for each, and return whether none has failed."""
    failed = 0
    for name, check in CHECKS.items():
        started = time.monotonic()
        try:
            outcome, detail = "PASS", check(endpoint)
        except Skipped as reason:
            outcome, detail = "SKIP", str(reason)
        except CheckFailed as reason:
            outcome, detail = "FAIL", str(reason)
        except (KeyError, TypeError, AttributeError) as error:
            outcome, detail = "FAIL", f"an answer of another form: {error!r}"
        failed += outcome == "FAIL"
        write(f"{outcome}  {name:14} {(time.monotonic() - started) * 1000:6.0f} ms  {detail}")
    return not failed


def _sibling(path: str, name: str) -> str:
    return f"{path.rpartition('/')[0]}/{name}"


def _error_of(result: Mapping[str, Any]) -> str:
    error = (result.get("structuredContent") or {}).get("error") or {}
    return f"{error.get('code', 'an error')}: {error.get('message', 'without a message')}"


def main(argv: list[str] | None = None) -> int:
    """Check the endpoint; return 1 when a check failed, 2 for an address of another form."""
    parser = argparse.ArgumentParser(description="Check a deployment over HTTP.")
    parser.add_argument("endpoint", help="URL of the MCP endpoint, the output Endpoint of the stack")
    given = parser.parse_args(argv)
    parts = urlsplit(given.endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path in ("", "/"):
        print("The endpoint is a URL such as https://mcp.example.com/mcp.", file=sys.stderr)
        return 2
    endpoint = Endpoint(given.endpoint, os.environ.get("SMOKE_KEY", ""), os.environ.get("SMOKE_TOKEN", ""))
    return 0 if run(endpoint, print) else 1


if __name__ == "__main__":
    sys.exit(main())
