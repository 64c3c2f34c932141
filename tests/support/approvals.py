"""A catalog with tools that need approval, their source over real HTTP, and every way to call a tool."""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import requests

from tests.support.catalogs import tool_of
from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import message, request, stateless
from tests.support.upstream import Upstream
from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.cli.entry_point import main
from toolfold.errors import CallError
from toolfold.execution.call import CallContext
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.pipeline import run_call
from toolfold.protocol.http import Request
from toolfold.protocol.jsonrpc import parse_message
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

TOOL, CONFIRMED = "CLOSE_HARBOUR", "SURVEY_HARBOUR"
"""A destructive tool, and one that only reads and has ``confirm``."""

ARGUMENTS = {"harbour": "Bergen", "days": 3}
ELICITATION = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

Outcome = tuple[str, dict[str, Any]]
"""``OK`` or the code of the error, and the error."""

Entry = Callable[["World", str, Mapping[str, Any], Mapping[str, Any]], Outcome]
"""Calls a tool: its name, its arguments, and what is beside them (``approval_token``, ``select``, ``fresh``)."""


def compile_docks(folder: Path) -> Path:
    """Compile the source of the tests ``docks`` and return the path of the catalog."""
    shutil.copytree("tests/fixtures/sources/docks", folder / "sources" / "docks")
    path = folder / "catalog.json"
    path.write_text(compile_folder(folder / "sources", adapters=["http_api"]))
    return path


def reply(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Return the answer of the source."""
    if query["operation"] == CONFIRMED:
        return 200, {}, b'{"depths": [{"place": "quay", "metres": 9}]}'
    return 200, {}, b'{"closed": 1}'


class World:
    """One server with its source. ``sent`` counts the requests that the source received."""

    def __init__(self, catalog: Path, upstream: Upstream, **environment: str) -> None:
        self.upstream = upstream
        self.environment = {
            "TOOLFOLD_CATALOG": str(catalog),
            "TOOLFOLD_ALLOWED_HOSTS": "docks.test",
            "TOOLFOLD_SOURCE_DOCKS_URL": upstream.url,
            "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
            **{f"TOOLFOLD_{name}": value for name, value in environment.items()},
        }
        self.app: App = build_app(Settings.from_environment(self.environment))
        self._local: LocalServer | None = None

    @property
    def sent(self) -> int:
        return len(self.upstream.requests)

    def local_url(self) -> str:
        """Return the URL of ``toolfold serve`` with these settings."""
        if self._local is None:
            self._local = LocalServer(Settings.from_environment(self.environment))
            self._local.__enter__()
        return self._local.url

    def close(self) -> None:
        if self._local is not None:
            self._local.__exit__()

    def token(self, tool: str = TOOL, arguments: Mapping[str, Any] = ARGUMENTS, **beside: Any) -> str:
        """Return the token that a first call is answered with."""
        code, error = by_meta_tool(self, tool, arguments, beside)
        assert code == "APPROVAL_REQUIRED", (code, error)
        return str(error["approval_token"])


def outcome_of(structured: Mapping[str, Any]) -> Outcome:
    error = structured.get("error")
    return ("OK", {}) if error is None else (error["code"], error)


def by_meta_tool(
    world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any], caller: str = ""
) -> Outcome:
    """Call TOOL_CALL, as a caller with an access token where ``caller`` is its principal."""
    credentials = NO_CREDENTIALS._replace(caller=caller)
    given = {"tool_name": tool, "arguments": dict(arguments), **beside}
    return outcome_of(world.app.server.tools.call("TOOL_CALL", given, credentials).structured)


def by_batch(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Call the tool in a batch with another call."""
    given = {"tool_name": tool, "arguments": dict(arguments), **beside}
    other = {"tool_name": CONFIRMED, "arguments": {"harbour": "Oslo"}}
    result = world.app.server.tools.call("TOOL_BATCH", {"calls": [other, given]})
    return outcome_of(result.structured["results"][1])


def by_pipe(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Call the tool as a step of a pipe."""
    given = {"tool_name": tool, "arguments": {name: {"$literal": value} for name, value in arguments.items()}}
    return outcome_of(world.app.server.tools.call("TOOL_PIPE", {"steps": [{**given, **beside}]}).structured)


def by_script(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Call the tool in a script that takes its arguments from its inputs."""
    script = "call(tool, **arguments, **beside)"
    inputs = {"tool": tool, "arguments": dict(arguments), "beside": dict(beside)}
    return outcome_of(world.app.server.tools.call("TOOL_SCRIPT", {"script": script, "inputs": inputs}).structured)


def by_own_name(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Call the tool by its name instead of TOOL_CALL, everything in its arguments."""
    tools = world.app.server.tools
    call = tools.resolve(tool, {**arguments, **beside})
    assert call is not None
    return outcome_of(tools.call(call.name, call.arguments).structured)


def _at_profile(world: World, profile: str, name: str, arguments: Mapping[str, Any]) -> Outcome:
    """Send a request to the path of a profile."""
    sent = request(message("tools/call", {"name": name, "arguments": dict(arguments)}))
    return _handle(world, sent._replace(path=f"/mcp/{profile}"))


def by_executor(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Call the executor itself, as scripts and batches do."""
    catalog = world.app.catalog_store()
    found = tool_of(catalog, tool)
    credentials = RequestCredentials(approval_token=str(beside.get("approval_token") or ""))
    try:
        run_call(
            world.app.executor,
            CallContext(catalog, found, arguments, credentials, bypass_cache=bool(beside.get("fresh"))),
        )
    except CallError as error:
        return error.code, error.as_dict()
    return "OK", {}


def _rpc(reply: Mapping[str, Any]) -> Outcome:
    result = reply["result"]
    if result.get("resultType") == "input_required":
        return "APPROVAL_REQUIRED", {"approval_token": result["requestState"], **result["inputRequests"]}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"] or not result["isError"]
    return outcome_of(result["structuredContent"])


def _params(tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "TOOL_CALL_WRITE", "arguments": {"tool_name": tool, "arguments": dict(arguments), **beside}}


def _handle(world: World, sent: Request) -> Outcome:
    response = world.app.server.handle_http(sent)
    return _rpc(json.loads(response.body))


def elicited(
    world: World,
    tool: str,
    arguments: Mapping[str, Any],
    beside: Mapping[str, Any],
    answer: Any = None,
    has_answer: bool = True,
) -> Outcome:
    """Send a request of a client that shows forms, with the token as ``requestState``."""
    token = beside.get("approval_token")
    params = _params(tool, arguments, {name: value for name, value in beside.items() if name != "approval_token"})
    if token is not None:
        params["requestState"] = token
        if has_answer:
            given = {"action": "accept", "content": {"approve": True}} if answer is None else answer
            params["inputResponses"] = {"approval": given}
    sent = stateless("tools/call", params)
    body = json.loads(sent.body)
    body["params"]["_meta"].update(ELICITATION)
    return _handle(world, sent._replace(body=json.dumps(body).encode()))


def by_elicitation(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Send a request of a client whose user approves in a form."""
    return elicited(world, tool, arguments, beside)


def _say(world: World, line: bytes) -> Outcome:
    """Send a message without HTTP."""
    parsed = parse_message(line)
    assert parsed is not None
    return _rpc(json.loads(world.app.server.handle_message(parsed)))


def share_approvals(app: App, other: App) -> None:
    """Let ``other`` know the approvals of ``app``, as entry points of one process do."""
    ours = app.executor
    vars(other.executor.services).update(approvals=ours.services.approvals)


def by_lambda(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Pass an event of API Gateway to the Lambda handler."""
    handler = make_handler(world.environment)
    share_approvals(world.app, handler.app)
    event = http_event(message("tools/call", _params(tool, arguments, beside)))
    return _rpc(json.loads(handler(event, 29.0)["body"]))


def by_local_server(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Send a request to ``toolfold serve``."""
    url = world.local_url()
    assert world._local is not None
    world._local.handler.app.reset()
    share_approvals(world.app, world._local.handler.app)
    body = message("tools/call", _params(tool, arguments, beside))
    return _rpc(requests.post(url, json=body, headers={"accept": "application/json"}, timeout=60).json())


def by_command(world: World, tool: str, arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> Outcome:
    """Run ``toolfold call`` without a terminal."""
    words = ["call", tool, json.dumps(dict(arguments)), "--json"]
    words += ["--approval-token=" + beside["approval_token"]] if beside.get("approval_token") else []
    words += ["--select", beside["select"]] if beside.get("select") else []
    words += ["--fresh"] if beside.get("fresh") else []
    out = io.StringIO()
    with contextlib.redirect_stdout(out), mock.patch.dict(os.environ, world.environment):
        main(words)
    return outcome_of(json.loads(out.getvalue().splitlines()[-1]))


ENTRY_POINTS: Mapping[str, Entry] = {
    "TOOL_CALL": by_meta_tool,
    "own name": by_own_name,
    "TOOL_BATCH": by_batch,
    "TOOL_PIPE": by_pipe,
    "TOOL_SCRIPT": by_script,
    "group": lambda world, tool, arguments, beside: _at_profile(
        world, "grouped", "works" if tool == CONFIRMED else "works_write", {"action": tool, **arguments, **beside}
    ),
    "kind": lambda world, tool, arguments, beside: _at_profile(
        world,
        "kinds",
        "connector",
        {"subcommand": "execute", "connector": "docks", "action": tool, "parameters": dict(arguments), **beside},
    ),
    "direct": lambda world, tool, arguments, beside: _at_profile(world, "direct", tool, {**arguments, **beside}),
    "other name": lambda world, tool, arguments, beside: _at_profile(
        world, "lazy", "afd-call", {"command": tool, "input": dict(arguments), **beside}
    ),
    "executor": by_executor,
    "http, handshake": lambda world, *call: _handle(world, request(message("tools/call", _params(*call)))),
    "http, stateless": lambda world, *call: _handle(world, stateless("tools/call", _params(*call))),
    "http, elicitation": by_elicitation,
    "stdio, handshake": lambda world, *call: _say(world, json.dumps(message("tools/call", _params(*call))).encode()),
    "stdio, stateless": lambda world, *call: _say(world, stateless("tools/call", _params(*call)).body),
    "lambda": by_lambda,
    "serve": by_local_server,
    "command": by_command,
}
"""Every way to call a tool. ``tests/integration/test_approval_bypasses.py`` fails when one is missing."""
