"""No call that needs approval reaches its source without it, by any way to call and with any reason to refuse it.

The ways are :data:`tests.support.approvals.ENTRY_POINTS`. :data:`ROADS` has every place in the code from which a call
goes on towards a source; a new one fails the test until it is listed with the way that covers it.
"""

import ast
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.approvals import (
    ARGUMENTS,
    CONFIRMED,
    ENTRY_POINTS,
    TOOL,
    World,
    by_elicitation,
    by_meta_tool,
    by_own_name,
    elicited,
    reply,
)
from tests.support.catalogs import tool_of
from tests.support.threads import run_concurrently
from tests.support.upstream import Upstream
from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.stores import Records
from toolfold.errors import ApprovalRequired, InsufficientScope
from toolfold.execution.call import CallContext
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.pipeline import run_call

REFUSED = {"APPROVAL_REQUIRED", "APPROVAL_PENDING", "APPROVAL_DENIED", "APPROVAL_UNAVAILABLE", "INVALID_ARGUMENTS"}
SHARED = [name for name in ENTRY_POINTS if name != "command"]
"""Ways through one process, whose approvals may be in its memory."""

PACKAGE = Path("layers/core/toolfold")
PASSED_ON = {
    "call",
    "fetch",
    "fetch_response",
    "handle",
    "performer",
    "tool_call",
    "handle_http",
    "handle_message",
    "request",
    "_performed",
    "_around",
    "answer_prepared",
    "run_call",
}
"""Names of the functions that bring a call nearer to its source."""

NO_TOOLS = ("auth", "aws", "build", "client", "network")
"""Packages that know no tools: they connect to an issuer, to AWS, to another toolfold server, or to any host."""

CALLS = re.compile(rf"\b({'|'.join(PASSED_ON)})\(")

ROADS: Mapping[str, str] = {
    # Towards the executor: each is entered by the ways named here.
    "cli/call.py tools.call": "command",
    "cli/sources.py app.server.tools.call": "command",
    "cli/demo.py tools.call": "command",
    "protocol/mcp.py tools.call": "http, handshake",
    "exposure/profiles.py super().handle": "group",
    "exposure/research.py request.tools.handle": "TOOL_CALL",
    # tests/unit/protocol/test_skills.py reads a skill that needs approval.
    "protocol/resources.py tools.call": "http, handshake",
    "transports/lambda_handler.py self.server.handle_http": "lambda",
    "transports/snapstart.py app.server.handle_message": "lambda",
    "transports/stdio.py self._server.handle_message": "stdio, handshake",
    "meta_tools/dispatcher.py performer": "TOOL_CALL",
    "meta_tools/dispatcher.py self.handle": "TOOL_CALL",
    "meta_tools/answer_reader.py self.fetch_response": "TOOL_CALL",
    "meta_tools/plan.py plan.fetch_response": "TOOL_CALL",
    "meta_tools/plan.py self.fetch_response": "TOOL_BATCH",
    "meta_tools/answer_reader.py run_call": "TOOL_CALL",
    "scripts/interpreter.py self._host.call": "TOOL_SCRIPT",
    # Behind the approval: only the executor may enter here.
    "execution/pipeline.py _around": "executor",
    "execution/pipeline.py _performed": "executor",
    "execution/pipeline.py answer_prepared": "executor",
    "execution/pipeline.py upstream.fetch": "executor",
    "execution/upstream.py self.adapter.call": "executor",
    "sources/http_api/request.py context.get_http_client().request": "executor",
    "sources/mcp/adapter.py self._sessions.call": "executor",
    "sources/mcp/session.py session.call": "executor",
    # The call of a correction is data: the caller may make it.
    "meta_tools/reader.py correction.call": "",
    "meta_tools/corrections.py correction.call": "",
    "meta_tools/tool_names.py correction.call": "",
    # These call no tool: they list and describe, or check the way to a host.
    "cli/catalog_views.py meta_tools(options).call": "",
    "cli/sign_in.py http_client.request": "",
    "protocol/tool_documents.py tools.call": "",
}
"""Place in the code from which a call goes on → the way to call that covers it; empty: no tool is called there."""


@pytest.fixture(scope="module")
def shared_world(docks_catalog: Path) -> Iterator[World]:
    with Upstream(reply) as docks:
        world = World(docks_catalog, docks, CACHE="memory")
        yield world
        world.close()


@pytest.fixture
def world(shared_world: World) -> World:
    """A server without cached answers and approvals, whose source has received nothing."""
    shared_world.app.reset()
    shared_world.upstream.requests.clear()
    return shared_world


def _roads() -> set[str]:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in NO_TOOLS:
            continue
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if CALLS.search(text) else ():
            if isinstance(node, ast.Call):
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if name in PASSED_ON:
                    found.add(f"{path.relative_to(PACKAGE)} {ast.unparse(function)}")
    return found


def test_every_road_to_a_source_is_covered_by_a_way_to_call() -> None:
    assert _roads() == set(ROADS), "list the place in ROADS, with the way of ENTRY_POINTS that covers it"
    assert set(ROADS.values()) - {""} <= set(ENTRY_POINTS)


def _flipped(token: str) -> str:
    return token[:30] + ("A" if token[30] != "A" else "B") + token[31:]


def _of_expired(world: World) -> str:
    """Return a token that was made for this call, and is over."""
    approvals = world.app.executor.services.approvals
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approvals, "_now", lambda: 1_000_000_000)
        return world.token()


def _unrecorded(world: World) -> str:
    """Return a token whose record was lost."""
    token = world.token()
    world.app.executor.services.approvals._records = Records(MemoryStore(0))
    return token


def _of_other_secret(world: World) -> str:
    """Return a token that was recorded for this call with another secret."""
    approvals = world.app.executor.services.approvals
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approvals, "_secret", lambda: b"another secret")
        return world.token()


def _replayed(world: World) -> str:
    token = world.token()
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "OK"
    return token


def _denied(world: World) -> str:
    token = world.token()
    assert elicited(world, TOOL, ARGUMENTS, {"approval_token": token}, {"action": "decline"})[0] == "APPROVAL_DENIED"
    return token


def _of_other_caller(world: World) -> str:
    code, error = by_meta_tool(world, TOOL, ARGUMENTS, {}, caller="someone-else")
    assert code == "APPROVAL_REQUIRED"
    return str(error["approval_token"])


NOT_APPROVED: Mapping[str, Callable[[World], Any]] = {
    "no token": lambda _: None,
    "empty": lambda _: "",
    "a word": lambda _: "yes",
    "true": lambda _: "true",
    "beginning alone": lambda world: world.token()[:12],
    "truncated": lambda world: world.token()[:-1],
    "extended": lambda world: world.token() + "A",
    "changed": lambda world: _flipped(world.token()),
    "in other case": lambda world: world.token().swapcase(),
    "made up": lambda _: "Ab" * 20,
    "of another secret": _of_other_secret,
    "expired": _of_expired,
    "lost record": _unrecorded,
    "replayed": _replayed,
    "denied": _denied,
    "of another caller": _of_other_caller,
    "of other arguments": lambda world: world.token(arguments={**ARGUMENTS, "harbour": "Oslo"}),
    "of fewer days": lambda world: world.token(arguments={**ARGUMENTS, "days": 2}),
    "of another default": lambda world: world.token(arguments={**ARGUMENTS, "notify": True}),
    "of another tool": lambda world: world.token(CONFIRMED, {"harbour": "Bergen"}),
}


BY_EACH_WAY = ("no token", "forged", "replayed", "of other arguments")
"""The others differ in what is checked where all ways have met."""

SAID = {"expired": "has expired", "lost record": "is not known here, or not any more", "replayed": "was used already"}
"""Reason → what TOOL_CALL says of a token that was made for this call."""


@pytest.mark.parametrize("reason", NOT_APPROVED)
def test_no_call_without_approval_reaches_the_source(world: World, reason: str) -> None:
    for name in SHARED if reason in BY_EACH_WAY else ("TOOL_CALL", "http, elicitation", "TOOL_SCRIPT"):
        token = NOT_APPROVED[reason](world)
        before = world.sent
        for beside in ({}, {"fresh": True, "select": "closed"}):
            given = beside if token is None else {**beside, "approval_token": token}
            code, error = ENTRY_POINTS[name](world, TOOL, ARGUMENTS, given)
            assert code in REFUSED, (name, reason, beside)
            assert name != "TOOL_CALL" or SAID.get(reason, "") in error["message"]
            assert world.sent == before, (name, reason, beside)


@pytest.mark.parametrize("name", SHARED)
def test_an_approved_call_is_performed_once(world: World, name: str) -> None:
    code, error = ENTRY_POINTS[name](world, TOOL, ARGUMENTS, {})
    assert (code, world.sent) == ("APPROVAL_REQUIRED", 0)
    beside = {"approval_token": error["approval_token"]}
    assert ENTRY_POINTS[name](world, TOOL, ARGUMENTS, beside) == ("OK", {})
    assert ENTRY_POINTS[name](world, TOOL, ARGUMENTS, beside)[0] == "APPROVAL_REQUIRED"
    assert world.sent == 1


def test_command_needs_approval_and_its_token_works_in_another_process(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world(CACHE=str(tmp_path / "cache" / "responses.sqlite"))
    command = ENTRY_POINTS["command"]
    for token in ("", "yes", "x" * 40):
        code, error = command(world, TOOL, ARGUMENTS, {"approval_token": token})
        assert (code, world.sent) == ("APPROVAL_REQUIRED", 0)
    beside = {"approval_token": error["approval_token"]}
    assert command(world, TOOL, {**ARGUMENTS, "days": 4}, beside)[0] == "APPROVAL_REQUIRED"
    assert command(world, TOOL, ARGUMENTS, beside) == ("OK", {})
    assert command(world, TOOL, ARGUMENTS, beside)[0] == "APPROVAL_REQUIRED"
    assert world.sent == 1


SPELLINGS: list[Mapping[str, Any]] = [
    {"days": 3, "harbour": "Bergen"},
    {"harbour": "Bergen", "days": "3"},
    {"harbour": "Bergen", "days": 3.0},
    {"harbour": "Bergen", "days": 3, "notify": "false"},
    {"Harbour": "Bergen", "DAYS": 3},
]


@pytest.mark.parametrize("arguments", SPELLINGS)
def test_other_spelling_of_the_same_arguments_has_the_same_approval(world: World, arguments: Mapping[str, Any]) -> None:
    assert by_meta_tool(world, TOOL, arguments, {"approval_token": world.token()}) == ("OK", {})
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": world.token(arguments=arguments)}) == ("OK", {})
    assert world.sent == 2


@pytest.mark.parametrize(
    "beside",
    ["approval_token", "approvalToken", "approval", "confirmation_token"],
)
def test_token_is_accepted_in_natural_places(world: World, beside: str) -> None:
    tools = world.app.server.tools
    for number, make in enumerate(
        (
            lambda token: {"tool_name": TOOL, "arguments": ARGUMENTS, beside: token},
            lambda token: {"tool_name": TOOL, "arguments": {**ARGUMENTS, beside: token}},
            lambda token: {"tool_name": TOOL, **ARGUMENTS, beside: token},
            lambda token: {"name": TOOL, "parameters": ARGUMENTS, beside: f" {token}\n"},
            lambda token: {
                "tool_name": "TOOL_CALL",
                "arguments": {"tool_name": TOOL, "arguments": ARGUMENTS, beside: token},
            },
        )
    ):
        assert not tools.call("TOOL_CALL", make(world.token())).is_error
        assert world.sent == number + 1


@pytest.mark.parametrize(
    "arguments",
    [{"harbour": ["Bergen", "Oslo"]}, {"harbour": "Bergen,Oslo"}, {"harbour": "Bergen", "days": [1, 2]}],
)
@pytest.mark.parametrize("tool", [TOOL, CONFIRMED])
def test_list_of_values_performs_no_call(world: World, tool: str, arguments: Mapping[str, Any]) -> None:
    tokens = [None, world.token(), world.token(CONFIRMED, {"harbour": "Bergen"})]
    for name in SHARED:
        for token in tokens:
            code, _ = ENTRY_POINTS[name](world, tool, arguments, {} if token is None else {"approval_token": token})
            assert code in REFUSED
    assert world.sent == 0


def test_cached_answer_needs_approval_as_well(world: World) -> None:
    arguments = {"harbour": "Bergen"}
    assert by_meta_tool(world, CONFIRMED, arguments, {"approval_token": world.token(CONFIRMED, arguments)})[0] == "OK"
    for name in SHARED:
        assert ENTRY_POINTS[name](world, CONFIRMED, arguments, {})[0] == "APPROVAL_REQUIRED"
    assert by_meta_tool(world, CONFIRMED, arguments, {"approval_token": world.token(CONFIRMED, arguments)})[0] == "OK"
    assert world.sent == 1  # the second answer came from the cache, with an approval of its own


@pytest.mark.parametrize("place", ["memory", "file"])
def test_of_concurrent_calls_with_one_token_one_is_performed(
    make_world: Callable[..., World], tmp_path: Path, place: str
) -> None:
    world = make_world(CACHE=place if place == "memory" else str(tmp_path / "cache" / "responses.sqlite"))
    beside = {"approval_token": world.token()}
    codes: list[str] = []
    barrier = threading.Barrier(16)

    def run() -> None:
        barrier.wait()
        codes.append(by_meta_tool(world, TOOL, ARGUMENTS, beside)[0])

    run_concurrently([run] * 16)
    assert codes.count("OK") == 1
    assert set(codes) <= {"OK", *REFUSED}
    assert world.sent == 1


ANSWERS = [
    {"action": "decline"},
    {"action": "accept"},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"approve": False}},
    {"action": "accept", "content": {"approve": "true"}},
    {"action": "accept", "content": {"approve": 1}},
    {"action": "accept", "content": ["approve"]},
    {"action": "yes", "content": {"approve": True}},
    {"content": {"approve": True}},
    "accept",
    True,
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_only_a_clear_answer_of_the_user_approves(world: World, answer: Any) -> None:
    code, error = by_elicitation(world, TOOL, ARGUMENTS, {})
    assert code == "APPROVAL_REQUIRED"
    token = {"approval_token": error["approval_token"]}
    assert elicited(world, TOOL, ARGUMENTS, token, has_answer=False)[0] == "APPROVAL_REQUIRED"
    assert elicited(world, TOOL, ARGUMENTS, token, answer)[0] in REFUSED
    assert world.sent == 0


@pytest.mark.parametrize("name", ["TOOL_CALL", "http, elicitation", "lambda"])
def test_human_decides_for_every_way_to_call(make_world: Callable[..., World], tmp_path: Path, name: str) -> None:
    world = make_world(CACHE=str(tmp_path / "cache" / "responses.sqlite"), APPROVE="human")
    code, error = ENTRY_POINTS[name](world, TOOL, ARGUMENTS, {})
    beside = {"approval_token": error["approval_token"]}
    assert code == "APPROVAL_REQUIRED"
    assert ENTRY_POINTS[name](world, TOOL, ARGUMENTS, beside)[0] == "APPROVAL_PENDING"
    assert world.sent == 0


def test_nothing_is_approved_where_the_settings_deny_it(make_world: Callable[..., World]) -> None:
    world = make_world(CACHE="memory", APPROVE="deny")
    for name in SHARED:
        for beside in ({}, {"approval_token": "yes"}):
            assert ENTRY_POINTS[name](world, TOOL, ARGUMENTS, beside)[0] == "APPROVAL_DENIED", name
    assert world.sent == 0


def test_tool_that_was_changed_since_needs_another_approval(world: World) -> None:
    beside = {"approval_token": world.token()}
    catalog = world.app.catalog_store()
    tool = tool_of(catalog, TOOL)
    for changed in (tool._replace(hash="00000000"), tool._replace(name="CLOSE_HARBOURS")):
        with pytest.raises(ApprovalRequired):
            run_call(world.app.executor, CallContext(catalog, changed, ARGUMENTS, RequestCredentials(**beside)))
    assert world.sent == 0


def test_approval_does_not_outlive_a_missing_scope(world: World) -> None:
    token = by_own_name(world, TOOL, ARGUMENTS, {})[1]["approval_token"]
    catalog = world.app.catalog_store()
    tool = tool_of(catalog, TOOL)
    credentials = RequestCredentials(approval_token=token, scopes=frozenset({"tools:read", "tools:call"}))
    with pytest.raises(InsufficientScope):
        run_call(world.app.executor, CallContext(catalog, tool, ARGUMENTS, credentials))
    assert world.sent == 0
