"""Check a deployment over HTTP, as a client sees it, with any catalog.

::

    make smoke STAGE=prod
    make smoke ENDPOINT=https://mcp.example.com/mcp

Prints PASS, FAIL or SKIP with a reason for each check; the status is 0 when none has failed. The tool that is called
only reads, with an example of the catalog. Requests are signed with the AWS credentials of this machine where the
deployment has ``Access=iam``. The environment variables SMOKE_KEY, an API key for the source that takes callers' keys,
and SMOKE_TOKEN, an access token of the issuer, are sent to the endpoint alone, and never printed. Without a key the
call of a tool is skipped where the deployment has none. Runs in ``.venv``, which has the extra ``aws``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
from botocore import exceptions as aws

from scripts import deployed_stack
from toolfold.client import Client, ClientError, find_access
from toolfold.client.channels import Signer, is_forbidden, region_of_address
from toolfold.errors import AuthRequired, ToolfoldError

T = TypeVar("T")

PROTOCOL = "2025-06-18"

OTHER_ORIGIN = "https://smoke.invalid"
"""Reserved by RFC 2606: no deployment allows it by name."""

OVERSIZED_BYTES = 7_000_000
"""More than the 6 MB that Lambda takes."""

TIMEOUT_S = 35
"""API Gateway answers within 30 seconds."""

LISTED, DESCRIBED = 200, 20
"""Tools that are looked at for an example, and how many of them TOOL_GET describes at once: its limit."""


class CheckFailed(Exception):
    """The deployment did not answer as it should; the text states how."""


class Skipped(Exception):
    """The check does not apply, or something for it was not given."""


class Endpoint:
    """The endpoint of a deployment.

    Args:
        url: Its address.
        access: ``iam``, ``oauth`` or ``open``; empty: as it answers an unsigned request.
        sign: Region of a deployment with the access ``iam``; empty: that of the address.
        key: An API key for the source that takes callers' keys; may be empty.
        token: An access token; may be empty.

    Raises:
        ClientError: The endpoint cannot be reached, or does not answer as an MCP server.
    """

    def __init__(self, url: str, access: str = "", sign: str = "", key: str = "", token: str = "") -> None:
        self.url, self.path, self.key, self.token = url, urlsplit(url).path, key, token
        self.access = access or ("iam" if sign else find_access(url))
        region = (sign or region_of_address(url)) if self.access == "iam" else ""
        self.signer = Signer(region) if region else None
        self.client = Client(url, token=token, api_key=key, sign=region, timeout_s=TIMEOUT_S)

    def send(
        self, method: str, path: str, body: bytes | None = None, authorized: bool = False, **headers: str
    ) -> requests.Response:
        """Send one request; an ``authorized`` one is signed or has the token.

        Raises:
            CheckFailed: There was no response.
        """
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        if authorized and self.token:
            names["authorization"] = f"Bearer {self.token}"
        url, auth = urljoin(self.url, path), self.signer if authorized else None
        try:
            return requests.request(
                method, url, headers=names, data=body, auth=auth, timeout=TIMEOUT_S, allow_redirects=False
            )
        except requests.RequestException as error:
            raise CheckFailed(f"no response: {type(error).__name__}") from None

    def post(self, rpc: str, params: Mapping[str, Any], authorized: bool = False, **headers: str) -> requests.Response:
        """Send one JSON-RPC request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": rpc, "params": params}
        headers |= {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        return self.send("POST", self.path, json.dumps(message).encode(), authorized, **headers)

    @cached_property
    def example(self) -> Mapping[str, Any]:
        """What TOOL_GET says of a tool that only reads, is no premium tool, and has an example."""
        listed = self.client.list(limit=LISTED, detail="minimal").tools
        names = [tool["name"] for tool in listed if "effect" not in tool and tool.get("access") != "premium"]
        for start in range(0, len(names), DESCRIBED):
            for tool in self.client.get(*names[start : start + DESCRIBED]).tools:
                if tool["effect"] == "read" and tool.get("example_call"):
                    return tool
        raise Skipped(f"none of the first {LISTED} tools only reads and has an example")


def expect(condition: object, otherwise: str) -> None:
    """Raise :class:`CheckFailed` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(otherwise)


def _check_health(endpoint: Endpoint) -> str:
    answer = endpoint.send("GET", urljoin(endpoint.path, "health"))
    expect(answer.status_code == 200, f"HTTP {answer.status_code}: {answer.text[:200]}")
    state = answer.json()
    expect(state.get("status") == "ok", f"status {state.get('status')}")
    if endpoint.access == "iam":
        expect(list(state) == ["status"], f"everyone reads {', '.join(state)}")
        return "says no more than that it is up"
    expect(not endpoint.key or endpoint.key not in answer.text, "the state contains the key")
    return f"{state['catalog']['tools']} tools, catalog {state['catalog']['sha256'][:12]}"


def _check_access(endpoint: Endpoint) -> str:
    """Send a request without signature and token."""
    answer = endpoint.post("tools/list", {})
    expected = {"iam": 403, "oauth": 401, "open": 200}[endpoint.access]
    expect(answer.status_code == expected, f"HTTP {answer.status_code} instead of {expected}")
    if endpoint.access == "iam":
        return "an unsigned request is refused"
    path = f"/.well-known/oauth-protected-resource{endpoint.path}"
    metadata = endpoint.send("GET", path)
    if endpoint.access == "open":
        expect(metadata.status_code == 404, f"no token is required, but {path} answers {metadata.status_code}")
        expect(not endpoint.token, "a token was given, but none is required")
        return "no token is required"
    # Some gateways rename the header; clients then use the well-known path.
    header = answer.headers.get("www-authenticate", "")
    expect(header.startswith("Bearer ") and "resource_metadata=" in header, "401 without WWW-Authenticate: Bearer")
    expect(metadata.status_code == 200, f"{path} answers {metadata.status_code}")
    found = metadata.json()
    expect(found.get("authorization_servers"), "the metadata has no authorization_servers")
    expect(urlsplit(found.get("resource", "")).path == endpoint.path, f"resource is {found.get('resource')}")
    forged = endpoint.post("tools/list", {}, authorization="Bearer e30.e30.e30")
    expect(forged.status_code == 401, f"a forged token is answered with {forged.status_code}")
    return f"tokens of {found['authorization_servers'][0]}"


def _check_initialize(endpoint: Endpoint) -> str:
    """Negotiate a version with sessions, which the Python client does not use."""
    client = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "smoke", "version": "1"}}
    answer = endpoint.post("initialize", client, authorized=True)
    if answer.status_code == 401:
        raise ClientError("HTTP 401", 401)
    expect(answer.status_code == 200, f"HTTP {answer.status_code}")
    result = answer.json()["result"]
    expect(result.get("protocolVersion") == PROTOCOL, f"version {result.get('protocolVersion')}")
    return f"{result['serverInfo']['name']} {result['serverInfo']['version']}, protocol {PROTOCOL}"


def _check_tools(endpoint: Endpoint) -> str:
    names = {tool["name"] for tool in endpoint.client.definitions()}
    missing = {"TOOL_LIST", "TOOL_GET", "TOOL_CALL"} - names
    expect(not missing, f"no {', '.join(sorted(missing))}")
    return f"{len(names)} tools"


def _check_search(endpoint: Endpoint) -> str:
    """Search for a tool in the words of its own summary."""
    [tool, *_] = endpoint.client.list(limit=1, detail="minimal").tools
    found = [one["name"] for one in endpoint.client.list(tool["description"]).tools]
    expect(tool["name"] in found, f"{tool['name']} is not among the matches of its own summary")
    return f"finds {tool['name']}"


def _check_schema(endpoint: Endpoint) -> str:
    tool = endpoint.example
    missing = set(tool["example_call"]["arguments"]) - set(tool["parameters"].get("properties", {}))
    expect(not missing, f"the schema of {tool['name']} has no {', '.join(sorted(missing))}")
    return f"{tool['name']} has its parameters"


def _check_call(endpoint: Endpoint) -> str:
    """Call a tool, with the key if there is one. TOOL_CALL itself refuses what would change data."""
    try:
        answer = endpoint.client.call_meta_tool("TOOL_CALL", endpoint.example["example_call"])
    except AuthRequired:
        expect(not endpoint.key, "the key is not used")
        raise Skipped("the deployment has no key, and SMOKE_KEY is not set") from None
    expect(answer.text, "the answer is empty")
    return f"{endpoint.example['name']} answers"


def _check_key(endpoint: Endpoint) -> str:
    """Call a tool without a key: an unknown caller must not use that of the deployment."""
    if endpoint.access != "open":
        raise Skipped("the access of the deployment is not open")
    if AuthRequired.code not in endpoint.example["errors"]:
        raise Skipped(f"{endpoint.example['name']} needs no key")
    try:
        with Client(endpoint.url, timeout_s=TIMEOUT_S) as unknown:
            unknown.call_meta_tool("TOOL_CALL", {**endpoint.example["example_call"], "fresh": True})
    except AuthRequired:
        return "a call without a key is refused"
    raise CheckFailed("a call without a key is answered")


def _check_cors(endpoint: Endpoint) -> str:
    """Send a preflight from a page that is not allowed, without signature and token, as browsers do."""
    preflight = {"origin": OTHER_ORIGIN, "access_control_request_method": "POST"}
    answer = endpoint.send("OPTIONS", endpoint.path, None, False, **preflight)
    expect(not is_forbidden(answer.status_code, answer.content), "API Gateway refuses preflights")
    allowed = answer.headers.get("access-control-allow-origin")
    if allowed == "*":
        raise Skipped("every origin is allowed")
    expect(allowed != OTHER_ORIGIN, f"{OTHER_ORIGIN} may call")
    return "other origins may not call"


def _check_size(endpoint: Endpoint) -> str:
    body = b"a" * OVERSIZED_BYTES
    status = endpoint.send("POST", endpoint.path, body, True, content_type="application/json").status_code
    # The token is checked before the body is read.
    expect(status == 413 or (status == 401 and not endpoint.token), f"HTTP {status}")
    return str(status)


def _check_paths(endpoint: Endpoint) -> str:
    status = endpoint.send("GET", "/smoke-no-such-path").status_code
    expect(status == 404, f"HTTP {status}")
    return "404 for others"


CHECKS: Mapping[str, Callable[[Endpoint], str]] = {
    "health": _check_health,
    "access": _check_access,
    "initialize": _check_initialize,
    "tools/list": _check_tools,
    "TOOL_LIST": _check_search,
    "TOOL_GET": _check_schema,
    "TOOL_CALL": _check_call,
    "key": _check_key,
    "CORS": _check_cors,
    "oversized": _check_size,
    "paths": _check_paths,
}


def outcome_of(check: Callable[[T], str], subject: T) -> tuple[str, str]:
    """Return PASS, SKIP or FAIL of a check, and its detail."""
    try:
        return "PASS", check(subject)
    except Skipped as reason:
        return "SKIP", str(reason)
    except (CheckFailed, ToolfoldError, deployed_stack.DeploymentError, aws.WaiterError, OSError) as error:
        is_open = isinstance(subject, Endpoint) and not subject.token
        if getattr(error, "status", 0) == 401 and is_open:
            return "SKIP", "needs an access token: set SMOKE_TOKEN"
        return "FAIL", str(error)
    except (aws.BotoCoreError, aws.ClientError, KeyError, TypeError, AttributeError, ValueError) as error:
        return "FAIL", f"{type(error).__name__}: {error}"


def run(endpoint: Endpoint, write: Callable[[str], None]) -> bool:
    """Run all checks, write a line for each, and return whether none has failed."""
    failed = 0
    for name, check in CHECKS.items():
        started = time.monotonic()
        outcome, detail = outcome_of(check, endpoint)
        failed += outcome == "FAIL"
        write(f"{outcome}  {name:14} {(time.monotonic() - started) * 1000:6.0f} ms  {detail}")
    return not failed


def main(argv: list[str] | None = None) -> int:
    """Check the endpoint; return 1 when a check failed or the endpoint is not reached."""
    parser = argparse.ArgumentParser(description="Check a deployment over HTTP.")
    parser.add_argument("endpoint", nargs="?", help="URL of the MCP endpoint (default: that of the stack)")
    parser.add_argument("--stage", default="default", help="stage of samconfig.toml (default: %(default)s)")
    parser.add_argument("--stack", default="", help="name of the stack (default: that of the stage)")
    parser.add_argument("--sign", default="", metavar="REGION", help="sign for an endpoint with Access=iam on a domain")
    given = parser.parse_args(argv)
    key, token = os.environ.get("SMOKE_KEY", ""), os.environ.get("SMOKE_TOKEN", "")
    try:
        if given.endpoint is not None:
            endpoint = Endpoint(given.endpoint, "", given.sign, key, token)
        else:
            stage = deployed_stack.load_stage(given.stage)
            stack = deployed_stack.DeployedStack(replace(stage, stack=given.stack or stage.stack))
            region = stack.client("cloudformation").meta.region_name
            endpoint = Endpoint(stack.outputs["Endpoint"], stack.outputs["Access"], region, key, token)
    except (deployed_stack.DeploymentError, aws.BotoCoreError, aws.ClientError, ClientError) as error:
        print(deployed_stack.sentence_of(error), file=sys.stderr)
        return 1
    print(f"{endpoint.url}: access {endpoint.access}")
    return 0 if run(endpoint, print) else 1


if __name__ == "__main__":
    sys.exit(main())
