"""``toolfold source add mcp --sign-in``: find the issuer of an MCP server, and register toolfold there."""

import sys
import urllib.parse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine, Run
from tests.support.mcp_sources import Sources, remote
from tests.support.sign_ins import GuardedMcpServer, SignInServer, Terminal


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine) -> Run:
    monkeypatch.setenv("TOOLFOLD_CACHE", "off")
    folder = str(tmp_path / "sources")
    return partial(command_line.run, "source", "add", "mcp", "harbour", "--yes", "--folder", folder)


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedMcpServer]:
    (tmp_path / "home").mkdir(mode=0o700)
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name))
    with GuardedMcpServer() as server, SignInServer(server.url) as issuer:
        server.issuer = issuer
        yield server


@pytest.mark.parametrize("place", ["/.well-known/oauth-protected-resource", "/named-in-the-refusal"])
def test_a_server_is_added_at_whose_issuer_toolfold_registers_itself(
    guarded: GuardedMcpServer, add: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    assert guarded.issuer is not None
    guarded.metadata_path, guarded.names_metadata = place, place == "/named-in-the-refusal"
    code, out, err = add("--url", guarded.url, "--sign-in", "--trust-annotations")
    assert code == 0, err
    (registered,) = [metadata for kind, metadata in guarded.issuer.events if kind == "register"]
    (redirect_uri,) = registered["redirect_uris"]
    text = (tmp_path / "sources/harbour/source.yaml").read_text()
    for line in (f"token_url: {guarded.issuer.url}/token", f"resource: {guarded.url}", "- notes"):
        assert line in text
    assert f"redirect_port: {urllib.parse.urlsplit(redirect_uri).port}" in text
    (export,) = [line for line in out.splitlines() if "TOOLFOLD_SOURCE_HARBOUR_KEY=" in line]
    client = export.partition("=")[2].strip("'")
    assert client.partition(":")[0] in guarded.issuer.clients
    # As the user goes on: with the variable set, the refresh has a link.
    sources = Sources(tmp_path, CACHE="off", ALLOWED_HOSTS=urllib.parse.urlsplit(guarded.issuer.url).netloc)
    monkeypatch.setenv("TOOLFOLD_SOURCE_HARBOUR_KEY", client)
    (sources.write("harbour", remote(guarded.url)) / "source.yaml").write_text(text)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Terminal())
        sources.refresh("harbour")
    sources.compile()
    assert not sources.call("harbour__echo", {"text": "ahoy"}).is_error


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"registration_endpoint": None}, "register toolfold there by hand, with the redirect URI http://127.0.0.1:"),
        ({"code_challenge_methods_supported": ["plain"]}, "do not have S256"),
        ({"token_endpoint": "http://tokens.example/token"}, "name no token_endpoint"),
        (
            {"registration_endpoint": "http://clients.example/"},
            "does not answer: a URL in it is not one of HTTPS",
        ),
        ({"issuer": "https://other.example"}, "name the issuer 'https://other.example'"),
    ],
)
def test_an_issuer_that_registers_no_clients_or_lacks_something_is_named(
    guarded: GuardedMcpServer, add: Run, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    metadata = guarded.issuer.server_metadata() if guarded.issuer else {}
    found = {name: value for name, value in {**metadata, **changed}.items() if value is not None}
    monkeypatch.setattr(guarded.issuer, "server_metadata", lambda: found)
    code, out, err = add("--url", guarded.url, "--sign-in")
    assert said in " ".join(f"{out} {err}".split())
    assert (code == 0) == ("registration_endpoint" not in found)


def test_a_refused_server_is_said_to_have_users_who_may_sign_in(guarded: GuardedMcpServer, add: Run) -> None:
    assert "add it with --sign-in" in add("--url", guarded.url)[2]


def test_signing_in_is_for_servers_on_the_network(add: Run) -> None:
    assert "give --url" in add("--sign-in", "--", "uvx", "server")[2]
