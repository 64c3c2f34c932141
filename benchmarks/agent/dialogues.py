"""Hold ten dialogues with the tools over the mock API, and write them into the documentation: ``make dialogues``.

``--check`` fails when the page is not what the tools answer now.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpe_openai

from benchmarks.agent.client import FREE_KEY, PREMIUM_KEY, Client, over_mock_api
from benchmarks.agent.next_call import Proposal, proposed_call

PAGE = Path("docs/how-to/ten-dialogues.md")

_BEGIN, _END = "<!-- begin: make dialogues -->\n", "<!-- end -->\n"
_encode = bpe_openai.get_encoding("o200k_base").encode


def _call(tool_name: str, arguments: dict[str, Any], select: str = "") -> Proposal:
    return "TOOL_CALL", {"tool_name": tool_name, "arguments": arguments, **({"select": select} if select else {})}


def _list(query: str) -> Proposal:
    return "TOOL_LIST", {"query": query}


@dataclass(frozen=True)
class Dialogue:
    """A question and the calls for it.

    Attributes:
        question: what a person says.
        calls: made in this order.
        remark: what the dialogue shows, as a sentence.
        follows: whether the call that the last answer proposes is made as well.
        key: the API key of the caller.
    """

    question: str
    calls: tuple[Proposal, ...]
    remark: str
    follows: bool = False
    key: str = PREMIUM_KEY


DIALOGUES = (
    Dialogue(
        "What does Apple cost?",
        (_list("price of apple stock"), _call("GLOBAL_QUOTE", {"symbol": "AAPL"}, "price, change percent")),
        "Two calls: the search returns the best tool with all that a call needs.",
    ),
    Dialogue(
        "And how do Apple, Microsoft and IBM compare?",
        (_call("COMPANY_OVERVIEW", {"symbol": ["AAPL", "MSFT", "IBM"]}, "PERatio, ProfitMargin, DividendYield"),),
        "A list for a parameter that takes one value is one call, answered as one table.",
    ),
    Dialogue(
        "What was the lowest close of IBM between January 2025 and January 2026?",
        (_call("TIME_SERIES_DAILY", {"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"),),
        "The tool returns 100 days by default. Where the requested period begins earlier, the rest is fetched, and a "
        "note states it.",
    ),
    Dialogue(
        "And with a free key?",
        (_call("TIME_SERIES_DAILY", {"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"),),
        "Where the key's plan does not include the rest, the answer states what it lacks.",
        key=FREE_KEY,
    ),
    Dialogue(
        "How did the closes of IBM develop by month?",
        (
            _call(
                "TIME_SERIES_DAILY",
                {"symbol": "IBM"},
                "select substr(date, 1, 7) as month, round(avg(close), 2) as mean, max(high) - min(low) as spread "
                "from data group by month order by month",
            ),
        ),
        "SQL over the rows of the answer, in an embedded SQLite that has nothing else.",
    ),
    Dialogue(
        "What was the net margin of Apple in the last three fiscal years?",
        (
            _list("annual revenue and net income of a company"),
            _call(
                "INCOME_STATEMENT",
                {"symbol": "AAPL"},
                "annualReports; fiscalDateEnding, netIncome / totalRevenue * 100 as margin; last 3",
            ),
        ),
        "Arithmetic on columns.",
    ),
    Dialogue(
        "Is IBM overbought?",
        (_call("RSI", {"symbol": "IBM", "interval": "1d", "period": 14, "series_type": "close"}, "rsi; last 3 days"),),
        "Names and forms that mean one thing only are accepted.",
    ),
    Dialogue(
        "Which calls on IBM have the largest open interest?",
        (_call("REALTIME_OPTIONS", {"symbol": "IBM"}, "type=call; top 3 by openinterests; strike, expiration"),),
        "An error ends in the call that works.",
        follows=True,
    ),
    Dialogue(
        "When was US unemployment highest since 2019?",
        (_call("UNEMPLOYMENT", {}, "since 2019; top 3 by value"),),
        "Rows are filtered by date, then sorted.",
    ),
    Dialogue(
        "What does Tesco cost?",
        (_call("GLOBAL_QUOTE", {"symbol": "Tesco PLC"}),),
        "A name in place of a symbol leads to the search for symbols.",
        follows=True,
    ),
)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail when the page is stale; write nothing")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    current = f"{before}{_BEGIN}\n{render()}\n{_END}{after}"
    if options.check:
        print(f"{PAGE} is current." if current == text else f"{PAGE} is stale: run make dialogues.")
        return int(current != text)
    PAGE.write_text(current, encoding="utf-8")
    return 0


def render() -> str:
    """Return all dialogues as Markdown."""
    with over_mock_api() as (client, _):
        return "\n".join(_render(number, dialogue, client) for number, dialogue in enumerate(DIALOGUES, 1))


def _render(number: int, dialogue: Dialogue, client: Client) -> str:
    client, blocks, tokens = replace(client, key=dialogue.key), [], 0
    calls = list(dialogue.calls)
    for name, arguments in calls:
        answer = client.call(name, arguments)
        sent = json.dumps(arguments, ensure_ascii=False)
        blocks.append(f"> {name} {sent}\n{answer.text}")
        tokens += len(_encode(sent)) + len(_encode(answer.text))
        if dialogue.follows and len(calls) == len(blocks) == len(dialogue.calls):
            proposal = proposed_call(name, arguments, answer)
            assert proposal is not None, f"no next call in {answer.text}"
            calls.append(proposal)
    fenced = "\n".join(["```text", "\n\n".join(blocks), "```"])
    counted = "One call and its answer" if len(calls) == 1 else f"{len(calls)} calls and their answers"
    return f"## {number}. {dialogue.question}\n\n{dialogue.remark}\n\n{fenced}\n\n{counted}: {tokens:,} tokens.\n"


if __name__ == "__main__":
    raise SystemExit(main())
