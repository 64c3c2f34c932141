"""MCP clients: their configuration files, and how each is given a server, as an entry, a command or a link.

The clients are the table ``mcp_clients.toml``.
"""

from __future__ import annotations

import base64
import importlib.resources
import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Attributes:
        title: Its name.
        section: The member of the file that holds the servers.
        file: Its file, below a folder of :meth:`path`.
        shown: The name of the file in the client's documentation; empty: people add a server by a command.
        command: What adds a server at a URL; empty: none does.
        link: What adds a server where it is opened; empty: nothing does. ``{json}`` is the entry with its name as JSON,
            ``{base64}`` the entry alone in base64, and ``{name}`` the name.
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
    link: str = ""
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


_TABLE = importlib.resources.files("toolfold").joinpath("mcp_clients.toml").read_text(encoding="utf-8")
CLIENTS: Mapping[str, Client] = {name: Client(**row) for name, row in tomllib.loads(_TABLE).items()}
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
            named = json.dumps({"name": name, **entry}, separators=(",", ":"))
            encoded = base64.b64encode(json.dumps(entry).encode())
            link = client.link.format(name=name, json=quote(named, safe=""), base64=quote(encoded, safe=""))
            yield Snippet(id_, client.title, "link", link)
        if client.shown:
            yield Snippet(id_, client.title, "json", to_text({client.section: {name: entry}}), client.shown)


def _bridge(url: str) -> tuple[str, ...]:
    """Return the command of the bridge to ``url``: it refuses an unencrypted one unless that is allowed."""
    return (*_BRIDGE, url, *(() if url.startswith("https:") else ("--allow-http",)))
