"""The commands of ``toolfold`` and their options, as data, but for ``catalog`` and ``source``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from toolfold.cli.application import ENDPOINT, FILE, PATH, Choice, Command, Group, Options, ToolName, argument, option
from toolfold.cli.catalog_commands import CATALOG, SOURCE
from toolfold.version import __version__

SHELLS = ("bash", "zsh", "fish", "powershell")

_PORT = click.IntRange(0, 65535)
_HOST_HELP = "address to listen on, and name to answer to (default 127.0.0.1)"
_VERBOSE = option("-v --verbose", "print each request on stderr: way, time, TLS")


def _pairs_hint(words: Sequence[str]) -> str:
    pairs = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            pairs.append(word[2:] if "=" in word else f"{word[2:]}={value}")
    return f"The arguments of a tool are key=value: {' '.join(pairs)}." if pairs else ""


_CLIENT = argument(
    "client",
    "CLIENT",
    "claude-desktop, claude-code, cursor, vscode, codex, windsurf, gemini-cli, zed or lm-studio",
    type=Choice(
        ("claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "lm-studio", "vscode", "windsurf", "zed")
    ),
)
_CLIENT_NAME = option("--name", "name of the server in the client (default toolfold)", default="toolfold")
_CONFIG = option("--config FILE", "configuration file, if it is not the usual one", type=PATH)
_YES = option("--yes", "change the file without a confirmation")


def _print_version(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        print(f"toolfold {__version__}")
        ctx.exit()


TOOLFOLD = Group(
    "toolfold",
    "Hundreds of API tools behind three MCP tools: TOOL_LIST, TOOL_GET and TOOL_CALL",
    Command("demo", "serve:run_demo", 'answer "give me aapl price" step by step, offline'),
    Command(
        "install",
        "install:run",
        "add toolfold to Claude, Cursor, VS Code, Codex and other MCP clients",
        _CLIENT,
        _CLIENT_NAME,
        option("--env NAME=VALUE", "another variable for the server; repeatable", multiple=True),
        option("--profile NAME", "the profile whose tools the client gets", default=""),
        _CONFIG,
        option("--print", "print the entry for the configuration, without the key; change nothing"),
        _YES,
        option("--access", "of the endpoint (default: found by a request)", type=Choice(("iam", "oauth", "open"))),
        takes_endpoint=True,
    ),
    Command(
        "uninstall",
        "install:remove",
        "remove toolfold from the configuration of an MCP client",
        _CLIENT,
        _CLIENT_NAME,
        _CONFIG,
        _YES,
    ),
    Command(
        "doctor",
        "doctor:run",
        "check settings, catalog, API key, cache and network",
        option("--offline", "send nothing"),
        option("--directory", "check what each mode lists by the rules of directories of connectors"),
        _VERBOSE,
        option("--json", "print a list of {status, subject, text, next_step}"),
        checks_names=False,
    ),
    CATALOG,
    SOURCE,
    Command(
        "call",
        "call:run",
        "call one tool and print its answer",
        argument("tool_name", "TOOL_NAME", "as in `toolfold catalog list`", type=ToolName()),
        argument("arguments", "[key=value]...", "its arguments, or one JSON object; repeat a key for a list"),
        option("--select PARTS", 'a part of the answer, e.g. "close,volume; last 5"'),
        option("--fresh", "ask the source again, even if the answer is cached"),
        option("--approval-token TOKEN", "the token of APPROVAL_REQUIRED, for a call that was approved"),
        option("--all", "print all rows on a terminal too (a file has them anyway)"),
        option("--max-tokens N", "only what a model gets with that limit; no ceiling applies", type=int),
        option("-o --output FILE", "write the whole answer into a file"),
        option("-f --force", "replace the file if it exists"),
        option("--format", "form of the data (default: by destination)", type=Choice(("table", "csv", "json"))),
        option("--json", 'print {"result": …, "cached": …} or {"error": …}'),
        option("--csv", "the same as --format csv"),
        _VERBOSE,
        takes_endpoint=True,
        exclusive=[("all", "max_tokens"), ("format", "json", "csv")],
        hint=_pairs_hint,
    ),
    Command(
        "approve",
        "approve:run",
        "approve or deny a call that waits for a person",
        argument("token", "TOKEN", "the approval token of the call"),
        option("-y --yes", "approve without a question"),
        option("--deny", "deny without a question"),
        exclusive=[("yes", "deny")],
    ),
    Command(
        "stdio",
        "serve:run_stdio",
        "serve MCP on stdin and stdout, for an agent on this machine",
        option("--profile NAME", "the profile whose tools are exposed", default=""),
    ),
    Command(
        "serve",
        "serve:run",
        "serve MCP over HTTP, through the Lambda handler",
        option("--host", _HOST_HELP, default="127.0.0.1"),
        option("--port", "port to listen on (default 8080; 0: any free)", type=_PORT, default=8080),
        option("--any-host", "answer to every host name, in a container or behind a load balancer; needs --host"),
    ),
    Command(
        "ui",
        "serve:run_ui",
        "show the catalog and its calls in a browser",
        option("--host", _HOST_HELP, default="127.0.0.1"),
        option("--port", "port to listen on (default 8790; 0: any free)", type=_PORT, default=8790),
        option("--no-open", "open no browser; print the URL only"),
        option("--log FILE", "show the calls in FILE, a call log, as well", default=""),
    ),
    Group(
        "profiles",
        "show which tools each path exposes, and how",
        Command("list", "profiles:print_list", "every profile", option("--json", "print JSON")),
        Command(
            "show",
            "profiles:show",
            "one profile",
            argument("name", "NAME", "the profile; `toolfold profiles list` names them"),
            option("--explain", "show where each value comes from"),
            option("--json", "print JSON"),
        ),
        Command(
            "most-used",
            "profiles:print_most_used",
            "tools by number of calls",
            option("--log FILE", "call log (default: TOOLFOLD_CALL_LOG)", default=""),
            option("--limit N", "most tools to print (default 20)", type=int, default=20),
        ),
    ),
    Command(
        "stats",
        "stats:run",
        "count what agents do and what it saves, from a log",
        argument("files", "[FILE]...", "further log files", type=FILE),
        option(
            "--since TIME",
            "count lines since then: 30m, 12h, 1d, 2w, or a date or time such as "
            "2026-01-14 (UTC); default: all of a file, a day of a deployment",
        ),
        option("--log FILE", "log files, also .gz; - reads stdin", multiple=True),
        option("--stack NAME", "the log of the function of this stack"),
        option("--log-group NAME", "this log group of CloudWatch"),
        option("--json", "print all figures as JSON"),
        exclusive=[("log", "stack", "log_group"), ("files", "stack", "log_group")],
    ),
    Command(
        "settings",
        "settings:run",
        "print every setting, its value and where that comes from",
        option("--set", "print only settings that are set"),
        option("--json", "print a list of {name, value, default, origin, …}"),
        more="settings:describe_settings",
        checks_names=False,
    ),
    Group(
        "cache",
        "show or clear cached and long answers on this machine",
        Command(
            "info",
            "cache:info",
            "print where they are, how many, how large, how old",
            option("--json", "print a list of {kind, location, answers, total_bytes, …}"),
        ),
        Command("clear", "cache:clear", "delete them", option("--yes", "delete without a confirmation")),
    ),
    Command(
        "completion",
        "completion:run",
        "print a completion script for bash, zsh, fish or PowerShell",
        argument("shell", "SHELL", ", ".join(SHELLS), type=Choice(SHELLS)),
        checks_names=False,
    ),
    Command(
        "mock-api",
        "serve:run_mock_api",
        "imitate the Alpha Vantage API on this machine, with made-up data",
        option("--port", "port to listen on (default 8787; 0: any free)", type=_PORT, default=8787),
        option(
            "--plan",
            "limit requests as the free plan does: 25 a day, one a second (default: none)",
            type=Choice("free"),
        ),
        option(
            "--latency-ms N", "milliseconds before every answer (default 0)", type=click.IntRange(0, 10**9), default=0
        ),
        option("--catalog FILE", "serve the tools of this compiled catalog"),
    ),
    Command(
        "help",
        "commands:print_help",
        "explain a command, or the settings",
        argument("words", "[COMMAND]...", "the command; none: all commands"),
        checks_names=False,
    ),
    params=[
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="print the version",
        ),
        *ENDPOINT,
    ],
)
"""The command line."""


def run_arguments(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; return its exit code."""
    try:
        with TOOLFOLD.make_context("toolfold", list(arguments)) as ctx:
            return int(TOOLFOLD.invoke(ctx) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code


def print_help(options: Options) -> int:
    """Print the help of the command in ``options.words``."""
    return run_arguments([*options.words, "--help"])
