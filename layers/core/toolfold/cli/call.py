"""``toolfold call``: call one tool."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from toolfold.cli import output
from toolfold.errors import ToolfoldError

_EXAMPLES = """examples:
  toolfold call GLOBAL_QUOTE symbol=IBM
  toolfold call TIME_SERIES_DAILY symbol=IBM --select "close,volume; last 5"
  toolfold call TIME_SERIES_DAILY symbol=IBM --select "max(close), change(close)"
  toolfold call SMA symbol=IBM interval=daily time_period=20 series_type=close --json
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "call",
        help="call one tool and print its answer",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tool_name", metavar="TOOL_NAME", help="as in `toolfold catalog list`")
    parser.add_argument("arguments", metavar="key=value", nargs="*", help="its arguments; repeat a key for a list")
    parser.add_argument("--select", metavar="PARTS", help='a part of the answer, e.g. "close,volume; last 5"')
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="longest answer that is printed in full (default 8000)"
    )
    parser.add_argument("--fresh", action="store_true", help="ask the source again, even if the answer is cached")
    parser.add_argument("--json", action="store_true", help='print {"result": …} or {"error": …}')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Call the tool and print its answer."""
    given = {"select": options.select, "max_tokens": options.max_tokens, "fresh": options.fresh or None}
    arguments = {
        "tool_name": options.tool_name,
        "arguments": _parse_pairs(options.arguments),
        **{name: value for name, value in given.items() if value is not None},
    }
    return output.print_result(output.meta_tools().call("TOOL_CALL", arguments), options.json)


def _parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse ``key=value`` pairs; a key that is repeated has a list."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ToolfoldError(f"Arguments are key=value, not {pair!r}; e.g. toolfold call GLOBAL_QUOTE symbol=IBM")
        values.setdefault(key, []).append(value)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}
