"""Several HTTP APIs in one catalog, over real HTTP: no credential reaches another source, and none a caller or a log.

The sources are written as a person would write them, one for each kind of credentials.
"""

import base64
import json
import logging
import textwrap
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.aws_services import use_aws_endpoint
from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.local_server import HttpService, Received, Reply, TokenEndpoint, as_json, echo
from toolfold.build.compiler import compile_folder
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.errors import CatalogUnavailable
from toolfold.execution.call import CallContext, CallLog
from toolfold.execution.credentials import read_credentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings

AUTHS = {
    "keyless": "null",
    "query": "{query_key: key}",
    "header": "{header: X-Api-Key}",
    "token": "{header: Authorization, prefix: Token}",
    "cookie": "{cookie: session}",
    "bearer": "{bearer: true, caller_key: true}",
    "basic": "{basic: true, caller_key: true}",
    "oauth": "{oauth2: {token_url: 'TOKEN_URL', scopes: [read]}}",
}
OPERATOR_KEYS = {
    name: f"user-{name}:0perator+secret/{name}" if name in ("basic", "oauth") else f"0perator+key/of-{name}"
    for name in AUTHS
    if name != "keyless"
}
CALLER_KEYS = {"bearer": "Caller.key~for-bearer", "basic": "caller:pass-word-9"}
FRAGMENTS = [part for key in (*OPERATOR_KEYS.values(), *CALLER_KEYS.values()) for part in key.split(":")[-1:]]
"""What must not be in an answer, an error or a log."""

TOOLS = """
    tools:
      - name: find
        summary: Things that match a text
        path: /things
        parameters:
          q: string
          trace: {type: string, in: header, sent_as: X-Trace}
          seen: {type: string, in: cookie}
      - {name: get, summary: One thing by its number, path: '/things/{id}'}
      - name: add
        summary: Add one more thing to the others
        method: POST
        path: /things
        parameters: {name: string, note: string}
"""


@dataclass(repr=False)
class World:
    """The services by the id of their source, the token endpoint of one of them, and calls."""

    services: Mapping[str, HttpService]
    endpoint: TokenEndpoint
    catalog: Catalog
    executor: ToolExecutor
    tools: MetaTools
    logs: list[CallLog]

    def call(self, tool: str, arguments: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        credentials = read_credentials([(name.lower(), value) for name, value in (headers or {}).items()])
        given = {"tool_name": tool, "arguments": dict(arguments)}
        return self.tools.call("TOOL_CALL", given, credentials=credentials)


@pytest.fixture(scope="module")
def services() -> Iterator[Mapping[str, HttpService]]:
    running = {name: HttpService() for name in AUTHS}
    for service in running.values():
        service.__enter__()
    yield running
    for service in running.values():
        service.__exit__()


@pytest.fixture(scope="module")
def token_endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint(OPERATOR_KEYS["oauth"]) as running:
        yield running


@pytest.fixture(scope="module")
def catalog(
    services: Mapping[str, HttpService], token_endpoint: TokenEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Catalog:
    folder = tmp_path_factory.mktemp("sources")
    for name, auth in AUTHS.items():
        (folder / name).mkdir()
        own = auth.replace("TOKEN_URL", f"{token_endpoint.url}/token")
        text = f"kind: http_api\nbase_url: {services[name].url}\nauth: {own}\n{textwrap.dedent(TOOLS)}"
        (folder / name / "source.yaml").write_text(text)
    return parse_catalog(compile_folder(folder).encode())


@pytest.fixture
def world(
    services: Mapping[str, HttpService],
    token_endpoint: TokenEndpoint,
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
) -> World:
    for name, key in OPERATOR_KEYS.items():
        monkeypatch.setenv(f"TOOLFOLD_SOURCE_{name.upper()}_KEY", key)
    hosts = ",".join(service.url.removeprefix("http://") for service in (*services.values(), token_endpoint))
    environment = {
        "TOOLFOLD_ALLOWED_HOSTS": hosts,
        "TOOLFOLD_RETRIES": "0",
        "TOOLFOLD_SECRET_TIMEOUT_S": "30",
        "TOOLFOLD_BREAKER_FAILURES": "1000",
    }
    logs: list[CallLog] = []
    executor = ToolExecutor(Settings.from_environment(environment), on_call=logs.append, clock=Clock().clocks())
    for service in services.values():
        service.received.clear()
        service.answer = as_json([{"id": 1}])
    token_endpoint.received.clear()
    return World(services, token_endpoint, catalog, executor, MetaTools(lambda: catalog, executor), logs)


def secrets_in(received: Received) -> str:
    """Return everything of a request, with what is encoded in it decoded."""
    authorization = received.headers.get("authorization", "")
    decoded = base64.b64decode(authorization[6:]).decode() if authorization.startswith("Basic ") else ""
    return f"{received.target} {received.path} {received.query} {received.headers} {received.cookies} {decoded}"


def expected_key(name: str, caller: bool, endpoint: TokenEndpoint) -> str:
    if name == "oauth":
        return f"-of-{endpoint.server_port}"
    return CALLER_KEYS[name] if caller and name in CALLER_KEYS else OPERATOR_KEYS.get(name, "")


CALLS = st.tuples(
    st.sampled_from(sorted(AUTHS)),
    st.sampled_from([("find", {"q": "a&b"}), ("find", {"trace": "t", "seen": "s"}), ("get", {"id": "7"}),
                     ("add", {"name": "x"})]),
    st.booleans(),
    st.sampled_from(["rows", "echo", "401", "403", "500", "redirect", "html"]),
)  # fmt: skip


def behavior(name: str, other: HttpService) -> Any:
    """Return what a service answers."""
    behaviors: Mapping[str, Any] = {
        "rows": as_json([{"id": 1}]),
        "echo": echo,
        "401": lambda request: as_json({"message": secrets_in(request)}, 401),
        "403": lambda request: as_json({"detail": request.headers}, 403, "application/problem+json"),
        "500": lambda request: (500, {"content-type": "text/plain"}, secrets_in(request).encode()),
        "redirect": lambda request: (302, {"location": f"{other.url}/stolen?{request.target}"}, b""),
        "html": lambda request: (200, {"content-type": "text/html"}, f"<title>{secrets_in(request)}</title>".encode()),
    }
    return behaviors[name]


@pytest.mark.slow
@pytest.mark.hypothesis
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(CALLS, min_size=1, max_size=8))
def test_no_credential_of_one_source_reaches_another_or_a_caller(
    world: World, caplog: pytest.LogCaptureFixture, calls: list[Any]
) -> None:
    names = sorted(AUTHS)
    callers = {f"X-Source-{name}": key for name, key in CALLER_KEYS.items()}
    caplog.set_level(logging.DEBUG)
    shown = []
    for name, (tool, arguments), is_caller, answer in calls:
        for service in world.services.values():
            service.received.clear()
        other = world.services[names[(names.index(name) + 1) % len(names)]]
        world.services[name].answer = behavior(answer, other)
        result = world.call(f"{name}__{tool}", arguments, callers if is_caller else None)
        shown.append(f"{result.text} {json.dumps(result.structured)}")
        for id_, service in world.services.items():
            if id_ != name:
                assert service.received == []
        expected = expected_key(name, is_caller, world.endpoint)
        for received in world.services[name].received:
            sent = secrets_in(received)
            assert expected in sent
            others = {key for key in (*OPERATOR_KEYS.values(), *CALLER_KEYS.values()) if key != expected}
            assert not any(key in sent for key in others)
            if tool == "add":
                assert received.method == "POST"
        if tool == "add":
            assert len(world.services[name].received) == 1
    shown += [record.getMessage() for record in caplog.records] + [repr(log) for log in world.logs]
    shown += [repr(world.executor), repr(world.executor.settings)]
    for text in shown:
        assert not any(fragment in text for fragment in (*FRAGMENTS, "access-token-"))


def test_the_key_that_follows_a_refused_one_is_in_no_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    new_key, service = "0perator+key/that-is-new", world.services["header"]

    def answer(request: Received) -> tuple[int, dict[str, str], bytes]:
        if new_key in secrets_in(request):
            return echo(request)
        monkeypatch.setenv("TOOLFOLD_SOURCE_HEADER_KEY", new_key)
        return behavior("401", service)(request)

    service.answer = answer
    result = world.call("header__find", {"q": "x"})
    assert (result.is_error, len(service.received)) == (False, 2)
    assert new_key not in f"{result.text} {json.dumps(result.structured)}"


def test_a_missing_key_is_named_and_nothing_is_sent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OPERATOR_KEYS:
        monkeypatch.delenv(f"TOOLFOLD_SOURCE_{name.upper()}_KEY")
        error = world.call(f"{name}__find", {}).structured["error"]
        assert (error["code"], f"TOOLFOLD_SOURCE_{name.upper()}_KEY" in error["suggestion"]) == ("AUTH_REQUIRED", True)
        assert world.services[name].received == []
    assert world.endpoint.received == []


def test_a_callers_key_goes_to_sources_that_take_one_alone(world: World) -> None:
    headers = {f"X-Source-{name}": f"from-a-caller:{name}" for name in AUTHS}
    for name in AUTHS:
        world.call(f"{name}__find", {"q": "y"}, headers)
        sent = "".join(map(secrets_in, world.services[name].received))
        assert (f"from-a-caller:{name}" in sent) == (name in CALLER_KEYS)


def test_the_host_of_a_token_endpoint_must_be_allowed(world: World, services: Mapping[str, HttpService]) -> None:
    hosts = ",".join(service.url.removeprefix("http://") for service in services.values())
    executor = ToolExecutor(Settings.from_environment({"TOOLFOLD_ALLOWED_HOSTS": hosts}))
    tool = tool_of(world.catalog, "oauth__find")
    with pytest.raises(CatalogUnavailable, match="a host that is not allowed"):
        run_call(executor, CallContext(world.catalog, tool, {}))
    assert world.endpoint.received == []


@pytest.mark.parametrize("name", ["keyless", "query", "bearer"])
def test_what_may_be_cached_is_the_answer_of_a_read(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_cached() -> bool:
        return bool(world.call(f"{name}__find", {"q": "c"}).structured["cached"])

    assert [is_cached() for _ in range(3)] == [False, True, True]
    for _ in range(2):
        world.call(f"{name}__add", {"name": "c"})
    assert [request.method for request in world.services[name].received] == ["GET", "POST", "POST"]
    world.executor.services.clock.sleep(1)
    assert [is_cached() for _ in range(2)] == [False, True]  # a write may have changed it
    monkeypatch.setenv(f"TOOLFOLD_SOURCE_{name.upper()}_KEY", "another-key")
    assert is_cached() == (name == "keyless")  # another account may see something else


def test_a_write_expires_what_a_profile_without_it_has_read(world: World) -> None:
    view = world.catalog.part(list(world.catalog.positions("effect", "read")), {})
    reader = replace(world, tools=MetaTools(lambda: view, world.executor))
    assert [reader.call("keyless__find", {"q": "d"}).structured["cached"] for _ in range(2)] == [False, True]
    world.call("keyless__add", {"name": "d"})
    world.executor.services.clock.sleep(1)
    assert not reader.call("keyless__find", {"q": "d"}).structured["cached"]


def test_a_read_that_a_write_overtakes_is_neither_cached_nor_joined(world: World) -> None:
    service = world.services["keyless"]

    def answer(request: Received) -> Reply:
        if request.method == "GET" and len(service.received) == 1:  # others write and read before it is answered
            world.executor.services.clock.sleep(1)
            world.call("keyless__add", {"name": "e"})
            world.executor.services.clock.sleep(1)
            later.append(world.call("keyless__find", {"q": "e"}).structured)
            return as_json({"state": "before"})
        return as_json({"state": "after"})

    service.answer, later = answer, list[Any]()
    assert "before" in world.call("keyless__find", {"q": "e"}).text
    later.append(world.call("keyless__find", {"q": "e"}).structured)
    assert [one["result"]["state"] for one in later] == ["after", "after"]
    assert [request.method for request in service.received] == ["GET", "POST", "GET", "GET"]


@pytest.mark.slow  # imports boto3
def test_keys_of_all_sources_can_be_in_one_secret(
    world: World, endpoint: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_aws_endpoint(endpoint, monkeypatch)
    import boto3

    caplog.set_level(logging.DEBUG)
    stored = {name: key for name, key in OPERATOR_KEYS.items() if name not in ("basic", "header")}
    store: Any = boto3.client("ssm")
    store.put_parameter(Name="/toolfold/sources", Value=json.dumps(stored), Type="SecureString", Overwrite=True)
    caplog.clear()  # of this test's own client
    for name in stored:
        monkeypatch.delenv(f"TOOLFOLD_SOURCE_{name.upper()}_KEY")
    monkeypatch.delenv("TOOLFOLD_SOURCE_HEADER_KEY")
    settings = world.executor.settings.replaced(source_keys="ssm:/toolfold/sources")
    world.tools = MetaTools(lambda: world.catalog, ToolExecutor(settings, clock=Clock().clocks()))
    for service in world.services.values():
        service.answer = echo
    shown = ""
    for name in [*stored, "basic"]:
        result = world.call(f"{name}__find", {"q": "one"})
        assert not result.is_error, result.text
        sent = secrets_in(world.services[name].last)
        assert expected_key(name, False, world.endpoint) in sent
        assert not any(key in sent for other, key in OPERATOR_KEYS.items() if other != name)
        shown += result.text
    error = world.call("header__find", {"q": "one"}).structured["error"]
    assert error["code"] == "AUTH_REQUIRED"
    assert "TOOLFOLD_SOURCE_KEYS has none for header" in error["message"]
    assert world.services["header"].received == []
    shown += " ".join(record.getMessage() for record in caplog.records) + repr(settings)
    assert not any(fragment in shown for fragment in FRAGMENTS)


class TestFailures:
    """A source that is down or slow fails its own calls; the others answer as if it were not there."""

    @pytest.mark.parametrize("kind", ["down", "slow", "garbage", "endless"])
    def test_the_others_answer_meanwhile(self, world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        released = threading.Event()

        def reply(_: Received) -> Reply:
            if kind == "slow":
                released.wait(60)
            if kind == "garbage":
                return 200, {"content-length": "5", "content-type": "application/json"}, b"\x00\xff{{{{"
            return as_json("x" * (200_000 if kind == "endless" else 1))

        source = world.catalog.source("query")
        limits = {"timeout_s": 0.5 if kind == "slow" else 60, "max_response_bytes": 100_000}
        broken = source._replace(connection=limits)
        if kind == "down":
            broken = broken._replace(base_url="http://127.0.0.1:9")
        sources = {**world.catalog._sources, "query": broken}
        monkeypatch.setattr(world.catalog, "_sources", sources)
        monkeypatch.setattr(AllowList, "check", lambda *_: None)
        world.services["query"].answer = reply
        with ThreadPoolExecutor() as threads:
            failed = threads.map(lambda number: world.call("query__find", {"q": f"{kind}{number}"}), range(4))
            for name in ("bearer", "basic", "oauth", "keyless"):
                assert not world.call(f"{name}__find", {"q": kind}).is_error
        released.set()
        codes = {"slow": {"UPSTREAM_TIMEOUT"}, "endless": {"ANSWER_TOO_LARGE"}}.get(kind, {"UPSTREAM_ERROR"})
        assert {result.structured["error"]["code"] for result in failed} == codes
