"""MCP clients: their configuration files, and how each is given a server, as an entry, a command or a link.

Locations and forms from the clients' documentation: modelcontextprotocol.io/docs/develop/connect-local-servers (Claude
Desktop), code.claude.com/docs/en/mcp (Claude Code), cursor.com/docs/context/mcp and /install-links,
code.visualstudio.com/docs/copilot/reference/mcp-configuration and /api/extension-guides/ai/mcp,
docs.windsurf.com/windsurf/cascade/mcp, geminicli.com/docs/tools/mcp-server, zed.dev/docs/ai/mcp,
lmstudio.ai/docs/app/mcp, developers.openai.com/codex/mcp. Of the programs between a client and a deployment:
github.com/aws/mcp-proxy-for-aws, github.com/geelen/mcp-remote.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Attributes:
        title: Its name.
        section: The member of the file that holds the servers.
        file: Its file, below a folder of :meth:`path`.
        shown: The name of the file in the client's documentation; empty: people add a server by a command.
        command: What adds a server at a URL; empty: none does.
        link: Returns the link that adds a server, by the name and the entry.
        has_type: Whether an entry says how the server is reached.
        variable: How a value of an entry names a variable; empty: its file has neither variables nor URLs.
        url: The member of an entry that has the URL of a server.
        headers: The member that has what is sent with each request.
        is_toml: Whether the file is TOML, not JSON.
    """

    title: str
    section: str
    file: str
    shown: str = ""
    command: Sequence[str] = ()
    link: Callable[[str, Mapping[str, Any]], str] | None = None
    has_type: bool = False
    variable: str = ""
    url: str = "url"
    headers: str = "headers"
    is_toml: bool = False

    def path(self) -> Path:
        """Return the file. Applications of a system keep their settings in one folder: Zed on macOS does not."""
        home, is_mac = Path.home(), sys.platform == "darwin"
        windows = os.environ.get("APPDATA") or home / "AppData/Roaming"
        known = {"darwin": home / "Library/Application Support", "win32": windows}
        data = known.get(sys.platform, os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        codex = os.environ.get("CODEX_HOME") or home / ".codex"
        return Path(self.file.format(home=home, data=data, zed=home / ".config" if is_mac else data, codex=codex))

    @property
    def replaces_variables(self) -> bool:
        """Whether the client puts a variable in the place of a reference, also in an argument of a program."""
        return "$" in self.variable

    def entry(self, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry of a server that is started with ``command``."""
        return {
            **({"type": "stdio"} if self.has_type else {}),
            "command": command[0],
            "args": list(command[1:]),
            **({"env": dict(environment)} if environment else {}),
        }

    def endpoint_entry(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the entry of a server at ``url``."""
        sent = {self.headers: dict(headers)} if headers else {}
        return {**({"type": "http"} if self.has_type else {}), self.url: url, **sent}


def _cursor_link(name: str, entry: Mapping[str, Any]) -> str:
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    # The clients' own handlers of links do not take a plus sign for a blank.
    query = urlencode({"name": name, "config": config}, quote_via=quote)
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{query}"


def _vscode_link(name: str, entry: Mapping[str, Any]) -> str:
    return f"vscode:mcp/install?{quote(json.dumps({'name': name, **entry}, separators=(',', ':')), safe='')}"


_SERVERS = "mcpServers"
CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(
        "Claude Desktop", _SERVERS, "{data}/Claude/claude_desktop_config.json", "claude_desktop_config.json"
    ),
    "claude-code": Client(
        "Claude Code", _SERVERS, "{home}/.claude.json", has_type=True, variable="${%s}",
        command=("claude", "mcp", "add", "--transport", "http", "{name}", "{url}"),
    ),
    "cursor": Client(
        "Cursor", _SERVERS, "{home}/.cursor/mcp.json", "~/.cursor/mcp.json", link=_cursor_link, variable="${env:%s}"
    ),
    "vscode": Client(
        "VS Code", "servers", "{data}/Code/User/mcp.json", ".vscode/mcp.json", link=_vscode_link, has_type=True,
        variable="${env:%s}",
    ),
    "windsurf": Client(
        "Windsurf", _SERVERS, "{home}/.codeium/windsurf/mcp_config.json", "~/.codeium/windsurf/mcp_config.json",
        variable="${env:%s}", url="serverUrl",
    ),
    "gemini-cli": Client(
        "Gemini CLI", _SERVERS, "{home}/.gemini/settings.json", "~/.gemini/settings.json", variable="${%s}",
        url="httpUrl",
    ),
    "codex": Client(
        "Codex", "mcp_servers", "{codex}/config.toml", command=("codex", "mcp", "add", "{name}", "--url", "{url}"),
        variable="%s", headers="env_http_headers", is_toml=True,
    ),
    "zed": Client("Zed", "context_servers", "{zed}/zed/settings.json", "settings.json"),
    "lm-studio": Client("LM Studio", _SERVERS, "{home}/.lmstudio/mcp.json", "mcp.json"),
}  # fmt: skip
"""Name on the command line → client."""

_BRIDGE = ("npx", "-y", "mcp-remote")
"""Starts a program that speaks stdio to a client and HTTP to a URL: Claude Desktop's file has no entries with URLs."""

_SIGNING_PROXY = ("uvx", "mcp-proxy-for-aws-cli@latest")
"""Starts AWS's proxy that signs requests: its distribution for uvx, which pins the packages that it needs."""


class Snippet(NamedTuple):
    """What a person copies, or follows, to give a client the server.

    Attributes:
        id: Of the client, a key of :data:`CLIENTS`.
        title: The name of the client.
        kind: A command for a terminal, JSON for a configuration file, or a link that the client opens.
        text: The command, the JSON or the link.
        file: Where JSON goes, as the client's documentation names it; empty for other kinds.
    """

    id: str
    title: str
    kind: Literal["command", "json", "link"]
    text: str
    file: str = ""


def to_text(configuration: Mapping[str, Any]) -> str:
    """Return a configuration as the text of a file."""
    return json.dumps(configuration, indent=2, ensure_ascii=False) + "\n"


def own_command() -> list[str]:
    """Return the command that starts this toolfold over stdio.

    Clients are started without the user's PATH: the path is full.
    """
    started = Path(sys.argv[0])
    if started.stem == "toolfold" and started.is_file():
        return [str(started.absolute()), "stdio"]
    found = shutil.which("toolfold")
    return [found, "stdio"] if found else [sys.executable, "-m", "toolfold", "stdio"]


def deployment_entry(
    client: Client, url: str, access: str, environment: Mapping[str, str], region: str = "", key: str = ""
) -> dict[str, Any]:
    """Return the entry of a deployment. No key is in it, but the name of its variable.

    Args:
        client: The client.
        url: The endpoint.
        access: ``iam``, ``oauth`` or ``open``. Tokens of ``oauth`` are the client's own concern.
        environment: Variables of the program, where the entry starts one.
        region: The region of a deployment with the access ``iam``.
        key: Name of the variable with the key that is sent as ``X-API-Key``; empty: none is sent.
    """
    reference = (client.variable or "${%s}") % key
    if access == "iam":
        sent = ["--header", f"X-API-Key={reference}"] * bool(key)
        options = ["--service", "execute-api", "--region", region, *sent]
        # Without the variable the proxy (1.7.0) ends where no region is configured, although it signs for --region.
        return client.entry([*_SIGNING_PROXY, url, *options], {"AWS_REGION": region, **environment})
    if client.variable:
        return client.endpoint_entry(url, {"X-API-Key": reference} if key else None)
    # The bridge itself replaces the variable. No blank: Claude Desktop on Windows would split the argument there.
    sent = ["--header", f"X-API-Key:{reference}"] * bool(key)
    return client.entry([*_bridge(url), *sent], environment)


def endpoint_snippets(url: str, program: Sequence[str] = ()) -> Iterator[Snippet]:
    """Yield what adds a server at ``url``, over HTTP. No snippet has a key.

    Args:
        url: The endpoint, without credentials.
        program: The command of a server on this machine, for clients that only start programs; may be empty.
    """
    name = "toolfold"
    for id_, client in CLIENTS.items():
        entry = client.endpoint_entry(url) if client.variable else client.entry(program or _bridge(url), {})
        if client.command:
            words = [word.format(name=name, url=url) for word in client.command]
            yield Snippet(id_, client.title, "command", shlex.join(words))
        if client.link:
            yield Snippet(id_, client.title, "link", client.link(name, entry))
        if client.shown:
            yield Snippet(id_, client.title, "json", to_text({client.section: {name: entry}}), client.shown)


def _bridge(url: str) -> tuple[str, ...]:
    """Return the command of the bridge to ``url``: it refuses an unencrypted one unless that is allowed."""
    return (*_BRIDGE, url, *(() if url.startswith("https:") else ("--allow-http",)))
