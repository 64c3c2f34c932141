"""The commands of ``toolfold`` and their options, as data, but for ``catalog`` and ``source``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from toolfold.cli.application import (
    ENDPOINT,
    FILE,
    PATH,
    Choice,
    Command,
    Group,
    Options,
    ToolName,
    argument,
    call_at,
    flag,
    option,
)
from toolfold.cli.catalog_commands import CATALOG
from toolfold.cli.source_commands import SOURCE
from toolfold.version import __version__

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")

_SUMMARY = "Hundreds of API tools behind three MCP tools: TOOL_LIST, TOOL_GET and TOOL_CALL."
_PORT = click.IntRange(0, 65535)
_HOST_HELP = "address to listen on, and name to answer to (default 127.0.0.1)"
_VERBOSE = flag("-v", "--verbose", help="print each request on stderr: way, time, TLS")

_GUIDE = f"""toolfold {__version__}
{_SUMMARY}

start with one of these:
  toolfold demo                             a question and its answer, offline, in a few seconds
  toolfold install claude-desktop           connect an MCP client; also claude-code, cursor, vscode
  toolfold catalog search oil price         find the tool for a request
  toolfold call WTI interval=daily          call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold doctor                           check settings, key, catalog, cache and network

help: toolfold --help (all commands) · toolfold COMMAND --help · toolfold help settings"""

_EXAMPLES = """examples:
  toolfold demo                                     a question and its answer, offline
  toolfold install claude-desktop                   add toolfold to an MCP client
  toolfold catalog search oil price                 find the tool for a request
  toolfold call GLOBAL_QUOTE symbol=IBM             call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold call WTI --select "date,value; last 12"  a part of its answer
  toolfold ui                                       try the tools in a browser

more help:
  toolfold COMMAND --help     options and examples of a command
  toolfold help settings      the environment variables that configure toolfold

exit code: 0 success, 1 a call or a check failed, 2 wrong usage"""


def _pairs_hint(words: Sequence[str]) -> str:
    """Return the hint for arguments of a tool that are written like options."""
    pairs = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            pairs.append(word[2:] if "=" in word else f"{word[2:]}={value}")
    return f"The arguments of a tool are key=value: {' '.join(pairs)}." if pairs else ""


_CALL = Command(
    "call",
    "call:run",
    "call one tool and print its answer",
    [
        argument("tool_name", "TOOL_NAME", "as in `toolfold catalog list`", type=ToolName()),
        argument("arguments", "[key=value]...", "its arguments, or one JSON object; repeat a key for a list", nargs=-1),
        option("--select", metavar="PARTS", help='a part of the answer, e.g. "close,volume; last 5"'),
        flag("--fresh", help="ask the source again, even if the answer is cached"),
        option("--approval-token", metavar="TOKEN",
               help="the token of APPROVAL_REQUIRED, for a call that was approved"),
        flag("--all", help="print all rows on a terminal too (a file has them anyway)"),
        option("--max-tokens", type=int, metavar="N",
               help="only what a model gets with that limit; no ceiling applies"),
        option("-o", "--output", metavar="FILE", type=FILE, help="write the whole answer into a file"),
        flag("-f", "--force", help="replace the file if it exists"),
        option("--format", type=Choice(("table", "csv", "json")), help="form of the data (default: by destination)"),
        flag("--json", help='print {"result": …, "cached": …} or {"error": …}'),
        flag("--csv", help="the same as --format csv"),
        _VERBOSE,
    ],
    examples="""examples:
  toolfold call GLOBAL_QUOTE symbol=IBM
  toolfold call TIME_SERIES_DAILY symbol=IBM --select "close,volume; last 5"
  toolfold call TIME_SERIES_DAILY symbol=IBM --select "max(close), change(close)"
  toolfold call TIME_SERIES_DAILY symbol=IBM outputsize=full --output ibm.csv
  toolfold call TIME_SERIES_DAILY symbol=IBM datatype=csv > ibm.csv       byte for byte as the service sent it
  toolfold call NEWS_SENTIMENT tickers=AAPL --format json | jq '.[0].title'
  toolfold call GLOBAL_QUOTE '{"symbol": "IBM"}' --json

A call that needs approval asks for it on a terminal; elsewhere it fails with the token to repeat it with.
stdout has the data alone: a table on a terminal, and the whole answer as CSV in a file or a pipe (JSON where it is no
table). How old it is, notes about it and progress are on stderr.

exit code: 0 success, 1 the call failed, 2 wrong usage""",
    takes_endpoint=True,
    exclusive=[("all", "max_tokens"), ("format", "json", "csv")],
    hint=_pairs_hint,
)  # fmt: skip

_CLIENT = argument("client", "CLIENT", "claude-desktop, claude-code, cursor or vscode",
                   type=Choice(("claude-code", "claude-desktop", "cursor", "vscode")))  # fmt: skip
_CLIENT_NAME = option("--name", default="toolfold", help="name of the server in the client (default toolfold)")
_CONFIG = option("--config", type=PATH, metavar="FILE",
                 help="configuration file, if it is not the usual one")  # fmt: skip
_YES = flag("--yes", help="change the file without a confirmation")

_INSTALL = Command(
    "install",
    "install:run",
    "add toolfold to Claude Desktop, Claude Code, Cursor or VS Code",
    [
        _CLIENT,
        _CLIENT_NAME,
        option("--env", metavar="NAME=VALUE", multiple=True, help="another variable for the server; repeatable"),
        option("--profile", metavar="NAME", default="", help="the profile whose tools the client gets"),
        _CONFIG,
        flag("--print", help="print the entry for the configuration, without the key; change nothing"),
        _YES,
        option("--access", type=Choice(("iam", "oauth", "open")), help="of the endpoint (default: found by a request)"),
    ],
    about="Add toolfold to the configuration of an MCP client. Shows the change first, and keeps a copy of the file "
    "that it changes.",
    examples="""examples:
  toolfold install claude-desktop             show the change, confirm, keep a copy, write
  toolfold install cursor --print             print the entry, change nothing
  toolfold install vscode --yes               without a confirmation
  toolfold install claude-code --env TOOLFOLD_CACHE=off
  toolfold install cursor --profile grouped   other tools in tools/list; `toolfold profiles list` names them
  toolfold install cursor --endpoint https://mcp.example.com/mcp    a deployment instead of this machine

The API key is taken from ALPHA_VANTAGE_API_KEY, if it is set, and written into the client's configuration, where the
client reads it. It is not shown. For a deployment, clients that can do so read it from the variable or ask for it.""",
    takes_endpoint=True,
)

_UNINSTALL = Command(
    "uninstall",
    "install:remove",
    "remove toolfold from the configuration of an MCP client",
    [_CLIENT, _CLIENT_NAME, _CONFIG, _YES],
    about="Remove the entry of toolfold from the configuration of an MCP client. Shows the change first, and keeps a "
    "copy of the file.",
    examples="""examples:
  toolfold uninstall claude-desktop           show the change, confirm, keep a copy, write
  toolfold uninstall cursor --yes             without a confirmation""",
)

_DOCTOR = Command(
    "doctor",
    "doctor:run",
    "check settings, catalog, API key, cache and network",
    [
        flag("--offline", help="send nothing"),
        _VERBOSE,
        flag("--json", help="print a list of {status, subject, text, next_step}"),
    ],
    about="Check everything that a call needs: settings, catalog, API key, cache, proxy, certificates and network. One "
    "request is sent to the host of each source, without a key.",
    examples="""examples:
  toolfold doctor
  toolfold doctor --offline                             send nothing
  toolfold doctor --json | jq '.[] | select(.status == "problem")'

exit code: 0 no problem, 1 a problem""",
    checks_names=False,
)

_APPROVE = Command(
    "approve",
    "approve:run",
    "approve or deny a call that waits for a person",
    [
        argument("token", "TOKEN", "the approval token of the call"),
        flag("-y", "--yes", help="approve without a question"),
        flag("--deny", help="deny without a question"),
    ],
    examples="""examples:
  toolfold approve TOKEN            show the call that waits, and ask
  toolfold approve TOKEN --deny     deny it
  toolfold approve TOKEN --yes      approve it without a question
  TOOLFOLD_CACHE=dynamodb://TABLE TOOLFOLD_APPROVAL_SECRET=arn:… toolfold approve TOKEN    of a server on AWS

A server with TOOLFOLD_APPROVE=human performs calls of destructive tools, and of tools with `confirm`, only after this.

exit code: 0 approved or denied as requested, 1 neither, 2 wrong usage""",
    exclusive=[("yes", "deny")],
)

_STDIO = Command(
    "stdio",
    "serve:run_stdio",
    "serve MCP on stdin and stdout, for an agent on this machine",
    [option("--profile", metavar="NAME", default="", help="the profile whose tools are exposed")],
    about="Serve MCP on stdin and stdout, one JSON-RPC message per line, until stdin ends. Messages for people go to "
    "stderr. An MCP client starts this command itself: docs/how-to/connect-a-client.md.",
    examples="""examples:
  toolfold install claude-desktop     let an MCP client start this command; also claude-code, cursor, vscode
  toolfold install cursor --print     the entry for the configuration of any other client
  toolfold stdio --profile grouped    other tools in tools/list; `toolfold profiles list` names them
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | toolfold stdio""",
)

_SERVE = Command(
    "serve",
    "serve:run",
    "serve MCP over HTTP, through the Lambda handler",
    [
        option("--host", default="127.0.0.1", help=_HOST_HELP),
        option("--port", type=_PORT, default=8080, help="port to listen on (default 8080; 0: any free)"),
    ],
    about="Serve MCP at http://127.0.0.1:PORT/mcp until interrupted. Requests become API Gateway events, which the "
    "Lambda handler answers. Only this machine can connect, unless --host says otherwise.",
    examples="""examples:
  toolfold serve                         MCP at http://127.0.0.1:8080/mcp
  toolfold serve --port 0                any free port; the URL is printed
  toolfold serve --host 192.0.2.7        for other machines; see TOOLFOLD_ANYONE_MAY_USE_THE_KEY
  curl -s http://127.0.0.1:8080/health   version and catalog of the server
  curl -s http://127.0.0.1:8080/mcp -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

A client that takes a URL is given http://127.0.0.1:8080/mcp; docs/how-to/connect-a-client.md.""",
)

_UI = Command(
    "ui",
    "ui:run",
    "show the catalog and its calls in a browser",
    [
        option("--host", default="127.0.0.1", help=_HOST_HELP),
        option("--port", type=_PORT, default=8790, help="port to listen on (default 8790; 0: any free)"),
        flag("--no-open", help="open no browser; print the URL only"),
        option("--log", metavar="FILE", default="", type=FILE, help="show the calls in FILE, a call log, as well"),
    ],
    about="Serve the web explorer on this machine until interrupted, and open it in a browser: the catalog and its "
    "search, what a model sees of each tool and what that costs, calls and their answers, and calls that wait for "
    "approval. Only this machine can connect, unless --host says otherwise.",
    examples="""examples:
  toolfold ui                       open the page in a browser
  toolfold ui --no-open             print its URL only
  toolfold ui --port 0              any free port
  toolfold ui --log calls.jsonl     watch the calls of other processes too: their TOOLFOLD_CALL_LOG
  toolfold ui --env-file my.env     try tools with the keys in a file, which the page never gets

The printed URL has a token that the page requires. The same server answers MCP clients at /mcp, without that token.
docs/how-to/explore.md says what is safe and why, and how a deployment serves the page.""",
)

_PROFILES_EXAMPLES = """examples:
  toolfold profiles list                      every profile, its mode, and its tokens, estimated
  toolfold profiles show grouped              the tools that a client sees there
  toolfold profiles show default --explain    where each value comes from: profile, variable or default
  toolfold profiles most-used                 tools by number of calls, for the mode auto

A profile is the path /mcp/NAME over HTTP, and --profile NAME of `toolfold stdio` and `toolfold install`.
docs/how-to/choose-a-mode.md"""

_PROFILES = Group(
    "profiles",
    "show which tools each path exposes, and how",
    [
        Command("list", "profiles:print_list", "every profile", [flag("--json", help="print JSON")],
                examples=_PROFILES_EXAMPLES),
        Command(
            "show", "profiles:show", "one profile",
            [
                argument("name", "NAME", "the profile; `toolfold profiles list` names them"),
                flag("--explain", help="show where each value comes from"),
                flag("--json", help="print JSON"),
            ],
            examples=_PROFILES_EXAMPLES,
        ),
        Command(
            "most-used", "profiles:print_most_used", "tools by number of calls",
            [
                option("--log", metavar="FILE", type=FILE, default="", help="call log (default: TOOLFOLD_CALL_LOG)"),
                option("--limit", metavar="N", type=int, default=20, help="most tools to print (default 20)"),
            ],
            about="Print the tools that are called most, as `most_used` of profiles.yaml takes them.",
            examples=_PROFILES_EXAMPLES,
        ),
    ],
    about="Show the profiles of the catalog: named selections of its tools, each with a mode.",
    examples=_PROFILES_EXAMPLES,
)  # fmt: skip

_STATS = Command(
    "stats",
    "stats:run",
    "count what agents do and what it saves, from a log",
    [
        argument("files", "[FILE]...", "further log files", nargs=-1, type=FILE),
        option("--since", metavar="TIME", help="count lines since then: 30m, 12h, 1d, 2w, or a date or time such as "
               "2026-01-14 (UTC); default: all of a file, a day of a deployment"),
        option("--log", metavar="FILE", multiple=True, type=FILE, help="log files, also .gz; - reads stdin"),
        option("--stack", metavar="NAME", help="the log of the function of this stack"),
        option("--log-group", metavar="NAME", help="this log group of CloudWatch"),
        flag("--json", help="print all figures as JSON"),
    ],
    about="Count searches, calls, tokens and the share of the cache, from log files, or from the log of a deployment "
    "(with the AWS credentials of this machine; AWS bills the bytes that are read).",
    examples="""examples:
  toolfold stats                                     the file in TOOLFOLD_CALL_LOG
  toolfold stats --since 1d --json
  toolfold serve 2>&1 | tee serve.log                then: toolfold stats --log serve.log
  aws logs tail /aws/lambda/NAME-gateway | toolfold stats --log -
  toolfold stats --stack NAME --since 7d             a deployment, by CloudWatch Logs Insights
  toolfold stats --log-group /aws/lambda/mine --since 2026-01-14

To log what agents on this machine do, set TOOLFOLD_CALL_LOG to a file, for example ~/.cache/toolfold/calls.jsonl, where
the server is configured. The lines have names, codes and figures, but no arguments, no answers and no keys.""",
    exclusive=[("log", "stack", "log_group"), ("files", "stack", "log_group")],
)  # fmt: skip

_SETTINGS_EXAMPLES = """examples:
  toolfold settings                          what is in force here
  toolfold settings --set                    only what is set
  toolfold settings --env-file prod.env      what would be in force with this file
  TOOLFOLD_MAX_TOKENS=2000 toolfold call …   another value for one command

settings:
"""

_SETTINGS = Command(
    "settings",
    "settings:run",
    "print every setting, its value and where that comes from",
    [
        flag("--set", help="print only settings that are set"),
        flag("--json", help="print a list of {name, value, default, origin, …}"),
    ],
    about="Print every setting, its value in force for commands and stdio, and where that comes from. Settings are "
    "environment variables. API keys, the salt and the secret are not printed.",
    examples=lambda: _SETTINGS_EXAMPLES + call_at("settings:describe_settings"),
    checks_names=False,
)

_CACHE_EXAMPLES = """examples:
  toolfold cache info           where cached and long answers are, how many, how large, how old
  toolfold cache clear          delete them after a confirmation, and reset the limits of API keys
  toolfold cache clear --yes    without a confirmation

Only files that toolfold made are deleted. A server may run; it keeps what is in its memory."""

_CACHE = Group(
    "cache",
    "show or clear cached and long answers on this machine",
    [
        Command(
            "info", "cache:info", "print where they are, how many, how large, how old",
            [flag("--json", help="print a list of {kind, location, answers, total_bytes, …}")],
            about="Print where cached and long answers are, how many, how large and how old. Changes nothing.",
            examples=_CACHE_EXAMPLES,
        ),
        Command(
            "clear", "cache:clear", "delete them", [flag("--yes", help="delete without a confirmation")],
            about="Delete cached and long answers that toolfold saved on this machine, and reset what was learned "
            "about the limits of API keys.",
            examples=_CACHE_EXAMPLES,
        ),
    ],
    about="Show or clear what toolfold keeps on this machine.",
    examples=_CACHE_EXAMPLES,
)  # fmt: skip

_COMPLETION = Command(
    "completion",
    "completion:run",
    "print a completion script for bash, zsh, fish, tcsh or PowerShell",
    [argument("shell", "SHELL", ", ".join(SHELLS), type=Choice(SHELLS))],
    about="Print a script that completes commands, options and names of tools.",
    examples="""examples:
  toolfold completion bash > ~/.local/share/bash-completion/completions/toolfold
  toolfold completion zsh > ~/.zsh/completions/_toolfold       a folder of $fpath, before compinit
  toolfold completion fish > ~/.config/fish/completions/toolfold.fish
  toolfold completion tcsh > ~/.toolfold.tcsh                  and in ~/.tcshrc: source ~/.toolfold.tcsh
  eval "$(toolfold completion bash)"                           for this bash alone

The names of tools are those of the catalog at the moment of completion.""",
    checks_names=False,
)

_MOCK_API = Command(
    "mock-api",
    "demo:run_mock_api",
    "imitate the Alpha Vantage API on this machine, with made-up data",
    [
        option("--port", type=_PORT, default=8787, help="port to listen on (default 8787; 0: any free)"),
        option("--plan", type=Choice(("free",)),
               help="limit requests as the free plan does: 25 a day, one a second (default: none)"),
        option("--latency-ms", type=click.IntRange(0, 10**9), default=0, metavar="N",
               help="milliseconds before every answer (default 0)"),
        option("--catalog", metavar="FILE", type=FILE, help="serve the tools of this compiled catalog"),
    ],
    about="Serve all functions of the Alpha Vantage API with made-up data, and its errors on request: "
    "docs/reference/mock-api.md. Prints the settings that point toolfold at it; logs requests at a terminal.",
    examples="""examples:
  toolfold mock-api                               on port 8787, without limits
  toolfold mock-api --plan free --latency-ms 300  with the limits of a free key, and slower

then, in another terminal:
  export TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=http://127.0.0.1:8787/query ALPHA_VANTAGE_API_KEY=mock
  toolfold call GLOBAL_QUOTE symbol=IBM""",
)  # fmt: skip

_HELP = Command(
    "help",
    "commands:print_help",
    "explain a command, or the settings",
    [argument("words", "[COMMAND]...", "the command; none: all commands", nargs=-1)],
    about="Print the help of a command.",
    examples="""examples:
  toolfold help                     all commands
  toolfold help call                one of them
  toolfold help catalog search      one of a group
  toolfold help settings            the environment variables""",
    checks_names=False,
)

_DEMO = Command(
    "demo",
    "demo:run",
    'answer "give me aapl price" step by step, offline',
    about="Find the tool for a question, call it, and print each step. Uses the mock API: no network, no API key, no "
    "configuration.",
    examples="examples:\n  toolfold demo\n  toolfold demo | less",
)


def _print_version(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        print(f"toolfold {__version__}")
        ctx.exit()


TOOLFOLD = Group(
    "toolfold",
    _SUMMARY,
    [_DEMO, _INSTALL, _UNINSTALL, _DOCTOR, CATALOG, SOURCE, _CALL, _APPROVE, _STDIO, _SERVE, _UI, _PROFILES, _STATS,
     _SETTINGS, _CACHE, _COMPLETION, _MOCK_API, _HELP],
    about=_SUMMARY,
    examples=_EXAMPLES,
    params=[
        click.Option(["-V", "--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
                     help="print the version"),
        *ENDPOINT,
    ],
    guide=_GUIDE,
)  # fmt: skip
"""The command line."""


def run_arguments(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; return its exit code.

    Raises:
        click.UsageError: the arguments are wrong.
    """
    try:
        with TOOLFOLD.make_context("toolfold", list(arguments)) as ctx:
            return int(TOOLFOLD.invoke(ctx) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code


def print_help(options: Options) -> int:
    """Print the help of the command in ``options.words``."""
    return run_arguments([*options.words, "--help"])
