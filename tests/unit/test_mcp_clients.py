"""What a person copies or follows to give a client the server: forms from the clients' documentation."""

import base64
import json
import shlex
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from toolfold.mcp_clients import CLIENTS, Snippet, deployment_entry, endpoint_snippets

URL = "https://abc.execute-api.eu-central-1.amazonaws.com/prod/mcp"


def snippet(id_: str, kind: str, url: str = URL, program: tuple[str, ...] = ()) -> Snippet:
    [found] = [one for one in endpoint_snippets(url, program) if (one.id, one.kind) == (id_, kind)]
    return found


def test_every_client_has_a_snippet_and_files_are_named() -> None:
    found = list(endpoint_snippets(URL))
    assert {one.id for one in found} == set(CLIENTS)
    assert all(bool(one.file) == (one.kind == "json") for one in found)


def test_cursor_link_decodes_to_the_entry_of_its_file() -> None:
    link = urlsplit(snippet("cursor", "link").text)
    query = parse_qs(link.query, strict_parsing=True)
    assert (link.scheme, link.netloc, link.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    config = json.loads(base64.b64decode(query["config"][0]))
    assert (query["name"], config) == (["toolfold"], {"url": URL})
    assert json.loads(snippet("cursor", "json").text) == {"mcpServers": {"toolfold": config}}


def test_vscode_link_decodes_to_the_entry_of_its_file() -> None:
    link = snippet("vscode", "link").text
    assert link.startswith("vscode:mcp/install?")
    described = json.loads(unquote(link.partition("?")[2]))
    assert described.pop("name") == "toolfold"
    assert json.loads(snippet("vscode", "json").text) == {"servers": {"toolfold": described}}
    assert described == {"type": "http", "url": URL}


@pytest.mark.parametrize(
    ("url", "program", "command"),
    [
        (URL, (), ["npx", "-y", "mcp-remote", URL]),
        ("http://10.0.0.7/mcp", (), ["npx", "-y", "mcp-remote", "http://10.0.0.7/mcp", "--allow-http"]),
        ("http://127.0.0.1:8080/mcp", ("/bin/toolfold", "stdio"), ["/bin/toolfold", "stdio"]),
    ],
)
def test_claude_desktop_starts_a_program(url: str, program: tuple[str, ...], command: list[str]) -> None:
    entry = json.loads(snippet("claude-desktop", "json", url, program).text)["mcpServers"]["toolfold"]
    assert [entry["command"], *entry["args"]] == command


def test_characters_of_a_shell_and_of_a_url_are_quoted() -> None:
    url = "http://host/a'b;c&d/mcp"
    added = ["claude", "mcp", "add", "--transport", "http", "toolfold", url]
    assert shlex.split(snippet("claude-code", "command", url).text) == added
    assert json.loads(unquote(snippet("vscode", "link", url).text.partition("?")[2]))["url"] == url


PROXY = ["uvx", "mcp-proxy-for-aws-cli@latest", URL, "--service", "execute-api", "--region", "eu-central-1"]
REGION = {"AWS_REGION": "eu-central-1"}
BRIDGE = ["npx", "-y", "mcp-remote", URL]


@pytest.mark.parametrize(
    ("client", "access", "key", "entry"),
    [
        ("claude-desktop", "iam", "", {"command": PROXY[0], "args": PROXY[1:], "env": REGION}),
        ("claude-desktop", "oauth", "", {"command": BRIDGE[0], "args": BRIDGE[1:]}),
        (
            "claude-desktop",
            "open",
            "KEY",
            {"command": BRIDGE[0], "args": [*BRIDGE[1:], "--header", "X-API-Key:${KEY}"]},
        ),
        ("claude-code", "open", "KEY", {"type": "http", "url": URL, "headers": {"X-API-Key": "${KEY}"}}),
        (
            "cursor",
            "iam",
            "KEY",
            {"command": PROXY[0], "args": [*PROXY[1:], "--header", "X-API-Key=${env:KEY}"], "env": REGION},
        ),
        ("windsurf", "open", "KEY", {"serverUrl": URL, "headers": {"X-API-Key": "${env:KEY}"}}),
        ("gemini-cli", "open", "KEY", {"httpUrl": URL, "headers": {"X-API-Key": "${KEY}"}}),
        ("codex", "open", "KEY", {"url": URL, "env_http_headers": {"X-API-Key": "KEY"}}),
        ("zed", "oauth", "", {"command": BRIDGE[0], "args": BRIDGE[1:]}),
        ("vscode", "iam", "", {"type": "stdio", "command": PROXY[0], "args": PROXY[1:], "env": REGION}),
        ("vscode", "open", "KEY", {"type": "http", "url": URL, "headers": {"X-API-Key": "${env:KEY}"}}),
    ],
)
def test_the_entry_of_a_deployment_has_the_form_of_the_client(
    client: str, access: str, key: str, entry: dict[str, object]
) -> None:
    region = "eu-central-1" if access == "iam" else ""
    assert deployment_entry(CLIENTS[client], URL, access, {}, region, key) == entry
