"""A user signs in at a source with an issuer of our own; no token, code, state or secret is anywhere but where it must.

Links are followed by a program in place of a person: the issuer approves at once.
"""

import contextlib
import hmac
import json
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import urllib.parse
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from joserfc import jwe
from joserfc.jwk import OctKey
from mcp import Client, MCPError
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequestURLParams, ElicitResult

from tests.support.catalogs import tool_of
from tests.support.cpu_time import ends_within
from tests.support.mcp_sources import Sources, remote
from tests.support.processes import TOOLFOLD, sdk_client
from tests.support.sign_ins import (
    CLIENT,
    Browser,
    GuardedMcpServer,
    NotesService,
    SignInServer,
    Terminal,
    auth_of,
    variables,
)
from tests.support.threads import run_concurrently
from toolfold.app import App, build_app
from toolfold.errors import AuthorizationRequired, SourceError, UpstreamError
from toolfold.execution import user_tokens
from toolfold.execution.call import CallContext, CallLog
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.pipeline import run_call
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

SECRET = CLIENT.partition(":")[2]


@dataclass(repr=False)
class World:
    """The service, its issuer, a process that uses both, and what it has logged and answered."""

    service: NotesService
    issuer: SignInServer
    folder: Path
    logs: list[CallLog]
    shown: list[str]
    app: App

    def start(self, **settings: Any) -> App:
        """Start another process of the same user."""
        return build_app(Settings.from_environment(), on_call=self.logs.append, **settings)

    def call(
        self, tool: str = "find", credentials: RequestCredentials = NO_CREDENTIALS, app: App | None = None
    ) -> Result:
        name = "TOOL_CALL" if tool == "find" else "TOOL_CALL_WRITE"
        arguments = {"q": "milk"} if tool == "find" else {"text": "x"}
        call = {"tool_name": f"notes__{tool}", "arguments": arguments}
        result = (app or self.app).server.tools.call(name, call, credentials)
        self.shown.append(f"{result.text} {result.structured}")
        return result

    def link(self, **options: Any) -> str:
        """Return the link of a call that needs the user to sign in."""
        error = self.call(**options).structured["error"]
        assert error["code"] == "AUTHORIZATION_REQUIRED"
        assert error["authorization_url"] in error["suggestion"]
        return str(error["authorization_url"])

    def key_file(self) -> Path:
        (path,) = (self.folder / "home/data").rglob("key")
        return path

    def records(self, content: bytes | None = None) -> dict[str, bytes]:
        """Return the records that are stored, by their names; ``content`` replaces all of them first."""
        with contextlib.closing(sqlite3.connect(self.key_file().with_name("sign-ins.sqlite"))) as file, file:
            if content is not None:
                file.execute("UPDATE entries SET value = ? WHERE key NOT GLOB 'user-token/*/*'", (content,))
            rows = file.execute("SELECT key, value FROM entries WHERE key NOT GLOB 'user-token/*/*'").fetchall()
        return {key.removeprefix("user-token/"): value for key, value in rows if value}

    def sign_in(self) -> Browser:
        browser = Browser()
        status, page, _ = browser.open(self.link())
        assert (status, "You are signed in" in page) == (200, True)
        return browser


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[World]:
    caplog.set_level(logging.DEBUG)
    with NotesService() as service, SignInServer(service.url) as issuer:
        service.issuer = issuer
        for name, value in variables(tmp_path, service, issuer).items():
            monkeypatch.setenv(name, value)
        (tmp_path / "home").mkdir(mode=0o700)
        monkeypatch.setenv("TOOLFOLD_CACHE", str(tmp_path / "home/cache/responses/responses.sqlite"))
        logs: list[CallLog] = []
        found = World(service, issuer, tmp_path, logs, [], build_app(Settings.from_environment(), on_call=logs.append))
        yield found
        codes = [form["code"] for kind, form in issuer.events if kind == "authorization_code"]
        hidden = [SECRET, *issuer.issued, *codes]
        files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        texts = [*found.shown, *map(repr, logs), *(record.getMessage() for record in caplog.records)]
        texts += [path.read_bytes().decode("latin-1") for path in files]
        assert not [text for text in texts if any(one in text for one in hidden)]


def test_a_user_signs_in_once_and_calls_are_made_with_the_token_of_that_user(world: World) -> None:
    link = world.link()
    assert world.service.received == []
    assert world.link() == link  # it was not opened yet
    browser = Browser()
    status, page, headers = browser.open(link)
    assert (status, "You are signed in" in page) == (200, True)
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
    assert not world.call().is_error
    assert not world.call(app=world.start()).is_error  # another process of the user
    (authorized,) = [form for kind, form in world.issuer.events if kind == "authorize"]
    assert (authorized["code_challenge_method"], authorized["scope"]) == ("S256", "notes")
    files = world.key_file().parent.iterdir()
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files} == dict.fromkeys(
        ("key", "sign-ins.sqlite"), 0o600
    )
    assert len(world.records()) == 1


def test_a_ticket_and_a_state_work_once_and_in_one_browser(world: World) -> None:
    link, browser = world.link(), Browser()
    callback = browser.leads_to(browser.leads_to(link))
    assert Browser().step(link)[0] == 400  # the ticket was used
    second = world.link()
    assert second != link
    status, page, _ = Browser().step(callback)  # another browser: its user would get the account of another user
    assert (status, "was not begun in this browser" in page) == (400, True)
    assert browser.step(callback)[0] == 200
    assert browser.step(callback)[0] == 400  # the state was used
    parts = urllib.parse.urlsplit(second)._replace(path="/callback")
    for query in ("", "state=", "state=foreign&code=stolen", "code=stolen", f"{parts.query}&code=stolen"):
        assert browser.step(parts._replace(query=query).geturl())[0] == 400
    assert browser.step(parts._replace(path="/connect/other").geturl())[0] == 404
    assert browser.step(second.replace("127.0.0.1", "localhost"))[0] == 421
    assert Browser().open(second)[0] == 200  # nothing of this has ended it
    assert world.issuer.kinds().count("authorization_code") == 2


@pytest.mark.parametrize(
    ("failure", "status", "said"), [({"is_denied": True}, 400, "refused"), ({"token_path": "/gone"}, 502, "failed")]
)
def test_a_sign_in_that_is_refused_or_fails_ends_what_waits_for_it(
    world: World, failure: dict[str, Any], status: int, said: str
) -> None:
    vars(world.issuer).update(failure)
    tokens, source = world.app.executor.services.user_tokens, world.app.catalog_store().source("notes")
    begun = tokens.begin(source, CLIENT)
    link = begun.url
    found, page, _ = Browser().open(link)
    assert begun.ended.wait(60)
    assert (found, said in page, begun.is_signed_in) == (status, True, False)
    assert world.link() != link


def test_an_expired_token_is_refreshed_once_for_all_calls(world: World) -> None:
    world.issuer.lifetimes = [0]
    world.sign_in()
    tokens = world.app.executor.services.user_tokens
    tokens._now = lambda: time.time() + 3600
    results: list[Result] = []
    run_concurrently([lambda: results.append(world.call())] * 4)
    assert [result.is_error for result in results] == [False] * 4
    assert world.issuer.kinds().count("refresh_token") >= 1
    assert world.issuer.kinds().count("refused") == 0  # each refresh token was used once
    tokens._now = time.time
    world.service.refused.update(world.service.tokens())
    assert not world.call("add").structured.get("result")  # a write is sent once
    assert not world.call("add").is_error


def test_a_revoked_token_is_deleted_and_the_user_asked_again(world: World) -> None:
    world.sign_in()
    assert not world.call().is_error
    world.issuer.forget_users()
    world.service.refused.update(world.service.tokens())
    assert world.call().structured["cached"]  # of the same token
    assert world.call("add").structured["error"]["code"] == "AUTH_REJECTED"
    assert world.link(tool="add")
    assert not world.records()
    world.sign_in()
    assert not world.call().structured["cached"]  # answers belong to a token


@pytest.mark.parametrize("is_public", [False, True])
def test_callers_who_are_not_the_user_of_this_machine_never_get_the_token(
    world: World, is_public: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_ANYONE_MAY_USE_THE_KEY", "true")
    world.sign_in()
    assert not world.call().is_error
    sent = len(world.service.received)
    app = world.start(is_public=is_public)
    caller = (
        NO_CREDENTIALS
        if is_public
        else RequestCredentials(caller="user-2", scopes=frozenset({"tools:read", "tools:call"}))
    )
    error = world.call(credentials=caller, app=app).structured["error"]
    assert (error["code"], "authorization_url" in error) == ("AUTHORIZATION_REQUIRED", False)
    assert len(world.service.received) == sent


def test_signing_out_revokes_the_tokens_and_deletes_them(world: World) -> None:
    world.sign_in()
    tokens, catalog = world.app.executor.services.user_tokens, world.app.catalog_store()
    assert tokens.sign_out(catalog.source("notes"), CLIENT)
    assert world.issuer.revoked == [world.issuer.issued[0]]
    assert not tokens.sign_out(catalog.source("notes"), CLIENT)
    world.sign_in()
    source = catalog.source("notes")
    auth = source.auth
    assert auth is not None
    assert auth.oauth2 is not None
    gone = source._replace(auth=auth._replace(oauth2={**auth.oauth2, "revocation_url": f"{world.service.url}/gone"}))
    with pytest.raises(UpstreamError, match="has not confirmed"):
        tokens.sign_out(gone, CLIENT)
    assert world.link()


def test_a_token_belongs_to_the_hosts_that_it_was_issued_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sign_in()
    with NotesService() as other:
        monkeypatch.setenv("TOOLFOLD_SOURCE_NOTES_URL", other.url)
        assert world.link(app=world.start())
        assert other.received == []


def sealed(name: str, record: Any, secret: bytes) -> bytes:
    """Return a record as toolfold writes it, of any JSON value."""
    header = {"alg": "dir", "enc": "A256GCM", "kid": name}
    key = OctKey.import_key(hmac.digest(secret.strip(), b"toolfold tokens of users", "sha256"))
    return jwe.encrypt_compact(header, json.dumps(record), key).encode()


GOOD = {"access_token": "x", "expires_at": 1e12}
RECORDS: list[Any] = [
    {**GOOD, "scope": "notes"},
    {},
    [GOOD],
]


def test_a_record_with_other_fields_or_of_another_name_is_no_sign_in(world: World) -> None:
    for number, record in enumerate([*RECORDS, GOOD]):
        world.sign_in()
        assert not world.call().is_error
        (name,) = world.records()
        world.records(sealed(name if number < len(RECORDS) else "other", record, world.key_file().read_bytes()))
        assert world.link(), record


@pytest.mark.parametrize("is_key", [False, True])
def test_a_damaged_record_or_key_is_no_sign_in(world: World, is_key: bool) -> None:
    for content in (b"", b"a.b.c.d.e", b"eyJhbGciOiJkaXIiLCJlbmMiOltdfQ....", b"\xff.\xfe", b"[" * 99_000, None):
        world.sign_in()
        assert not world.call().is_error
        path, (record,) = world.key_file(), world.records().values()
        found = path.read_bytes() if is_key else record
        written = found[:-4] + b"AAAA" if content is None else content
        path.write_bytes(written) if is_key else world.records(written)
        assert world.link(), content


def test_a_folder_that_others_can_change_is_not_used(world: World) -> None:
    world.sign_in()
    (folder,) = (world.folder / "home/data/toolfold").iterdir()
    folder.chmod(0o777)
    error = world.call().structured["error"]
    assert (error["code"], str(folder) in str(error)) == ("AUTHORIZATION_REQUIRED", False)
    assert world.service.received == []


def test_the_error_names_the_command_to_a_person(world: World) -> None:
    tool = tool_of(world.app.catalog_store(), "notes__find")
    with pytest.raises(AuthorizationRequired) as caught:
        run_call(world.app.executor, CallContext(world.app.catalog_store(), tool, {"q": "x"}))
    assert "toolfold source sign-in notes" in caught.value.suggestion


class Person:
    """The user of an MCP client, who opens the link that it shows."""

    def __init__(self, action: str = "accept") -> None:
        self.action = action
        self.links: list[str] = []

    async def __call__(self, _context: Any, params: Any) -> Any:
        """Open the link a little later than the client repeats the call, as people do."""
        assert isinstance(params, ElicitRequestURLParams)
        self.links.append(params.url)
        if self.action == "accept":
            threading.Timer(0.3, Browser().open, [params.url]).start()
        return ElicitResult(action=self.action)  # type: ignore[arg-type]  # one of three words


async def called(client: Client) -> Any:
    return await client.call_tool("TOOL_CALL", {"tool_name": "notes__find", "arguments": {"q": "milk"}})


def played(world: World, transport: str, mode: Any, steps: Callable[[Client], Awaitable[Any]], person: Any) -> Any:
    """Return what ``steps`` return with a client of the SDK, over stdio or at a server."""

    async def over_stdio() -> Any:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
        async with sdk_client(environment, mode=mode, elicitation_callback=person) as client:
            return await steps(client)

    async def over_http(url: str) -> Any:
        async with Client(url, mode=mode, elicitation_callback=person) as client:
            return await steps(client)

    if transport == "stdio":
        return anyio.run(over_stdio)
    with LocalServer(world.app.settings) as server:
        return anyio.run(over_http, server.url)


@pytest.mark.parametrize(("transport", "action"), [("serve", "accept"), ("serve", "decline"), ("stdio", "accept")])
def test_the_sdk_opens_the_link_and_repeats_the_call(world: World, transport: str, action: str) -> None:
    person = Person(action)
    result = played(world, transport, "auto", called, person)
    world.shown.append(str(result))
    assert len(person.links) == 1
    assert ("buy milk" in result.content[0].text, "AUTHORIZATION_REQUIRED" in result.content[0].text) == (
        action == "accept",
        action == "decline",
    )


def test_clients_of_2025_11_25_get_the_link_in_the_error_of_that_version(world: World) -> None:
    async def steps(client: Client) -> Any:
        with pytest.raises(MCPError) as caught:
            await called(client)
        (asked,) = UrlElicitationRequiredError.from_error(caught.value.error).elicitations
        assert asked.elicitation_id
        page = await anyio.to_thread.run_sync(Browser().open, asked.url)
        assert page[0] == 200
        return await called(client)

    result = played(world, "stdio", "legacy", steps, Person())
    assert "buy milk" in result.content[0].text


def test_a_call_with_a_token_waits_for_no_sign_in(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sign_in()
    tokens, source = world.app.executor.services.user_tokens, world.app.catalog_store().source("notes")
    tokens.begin(source, CLIENT)  # another one, which does not end
    monkeypatch.setattr(user_tokens, "MAX_WAIT_S", 60.0)
    with ends_within(0):
        assert not world.call(credentials=NO_CREDENTIALS._replace(awaits_sign_in=True)).is_error


def test_clients_that_open_no_links_get_it_as_text(world: World) -> None:
    for transport, mode in (("serve", "auto"), ("stdio", "legacy")):
        text = played(world, transport, mode, called, None).content[0].text
        assert "AUTHORIZATION_REQUIRED" in text
        assert "http://127.0.0.1:" in text


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TOOLFOLD, "source", *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_the_commands_sign_in_and_out(world: World) -> None:
    with subprocess.Popen(
        [*TOOLFOLD, "source", "sign-in", "notes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "sign in to Notes" in process.stderr.readline()
        assert Browser().open(process.stderr.readline().strip())[0] == 200
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "Signed in to Notes.\n")
    assert not world.call().is_error
    for text in ("Signed out of Notes.\n", "You were not signed in to Notes.\n"):
        done = run("sign-out", "notes")
        assert (done.returncode, done.stdout) == (0, text)
    assert len(world.issuer.revoked) == 1
    wrong = run("sign-in", "note")
    assert (wrong.returncode, "notes" in wrong.stderr) == (1, True)


@dataclass
class Harbour:
    """An MCP server with an issuer, and a catalog of its tools."""

    sources: Sources
    server: GuardedMcpServer
    issuer: SignInServer

    def call(self, tool: str, **arguments: str) -> Result:
        return self.sources.call(f"harbour__{tool}", arguments)

    def sign_in(self) -> None:
        error = self.call("echo", text="x").structured["error"]
        assert error["code"] == "AUTHORIZATION_REQUIRED"
        assert Browser().open(error["authorization_url"])[0] == 200

    def secrets(self) -> list[str]:
        """Return everything that no answer may have."""
        codes = [form["code"] for kind, form in self.issuer.events if kind == "authorization_code"]
        return [SECRET, CLIENT, *self.issuer.issued[-2:], *codes[-1:]]


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Harbour]:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "home").mkdir(mode=0o700)
    with GuardedMcpServer() as server, SignInServer(server.url) as issuer:
        server.issuer = issuer
        for name in ("DATA", "CACHE", "CONFIG"):
            monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name))
        monkeypatch.setenv("TOOLFOLD_SOURCE_HARBOUR_KEY", CLIENT)
        sources = Sources(tmp_path, ALLOWED_HOSTS=urllib.parse.urlsplit(issuer.url).netloc, CACHE="off")
        sources.write("harbour", remote(server.url), auth=auth_of(issuer))
        with pytest.raises(SourceError) as refused:  # without a terminal
            sources.refresh("harbour")
        assert not any(server.tokens)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", Terminal())
            sources.refresh("harbour")
        sources.compile()
        yield Harbour(sources, server, issuer)
        refresh_tokens = [token for token in issuer.issued if "." not in token]
        sent = "".join(server.heads)
        assert not [one for one in (SECRET, CLIENT, *refresh_tokens) if one in sent]
        shown = f"{caplog.text} {refused.value}"
        assert not [one for one in (SECRET, CLIENT, *issuer.issued) if one in shown]


def test_calls_of_an_mcp_server_are_made_with_the_token_of_the_user(harbour: Harbour) -> None:
    assert harbour.call("echo", text="ahoy").text.startswith("ahoy")  # signed in by the refresh
    assert set(filter(None, harbour.server.tokens)) == {harbour.issuer.issued[1]}
    harbour.server.refused.update(harbour.issuer.issued)
    assert not harbour.call("echo", text="again").is_error  # the token was refreshed
    assert harbour.issuer.kinds().count("refresh_token") == 1
    harbour.server.refused.update(harbour.issuer.issued)
    assert harbour.call("save", note="x").structured["error"]["code"] == "AUTH_REJECTED"  # a write is sent once
    tokens, store = harbour.sources.app.executor.services.user_tokens, harbour.sources.app.catalog_store()
    assert tokens.sign_out(store.source("harbour"), CLIENT)
    assert len(harbour.issuer.revoked) == 1
    sent = len(harbour.server.heads)
    harbour.sign_in()
    assert len(harbour.server.heads) == sent
    assert not harbour.call("echo", text="signed in").is_error


def test_an_mcp_server_that_repeats_secrets_shows_none(harbour: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    harbour.call("echo", text="x")
    assert len(harbour.secrets()) == 5
    for secret in harbour.secrets():
        encoded = b64encode(secret.encode()).decode()
        for said in (secret, f"{'x' * 1990} {secret}", json.dumps({"a": [secret]}), encoded):
            answer = harbour.call("echo", text=said)
            assert not answer.is_error
            monkeypatch.setenv("HARBOUR_KEY", said)
            error = harbour.call("fail").structured["error"]
            assert error["code"] == "UPSTREAM_ERROR"
            for shown in (f"{answer.text} {answer.structured}", str(error)):
                assert not any(secret[at : at + 8] in shown for at in range(len(secret) - 7))
