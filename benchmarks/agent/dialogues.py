"""Hold dialogues with the tools over the mock API, and write them into the documentation: ``make dialogues``.

``--check`` fails when the page is not what the tools answer now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.agent.client import PREMIUM_KEY, Client, over_mock_api
from benchmarks.agent.next_call import proposed_call
from scripts import measured_tables
from tests.support.meta_tools import tokens

PAGE = Path("docs/how-to/dialogues.md")


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
    calls: list[tuple[str, dict[str, Any]]]
    remark: str
    follows: bool = False
    key: str = PREMIUM_KEY


def main() -> int:
    """Write the page, or check it."""
    options = measured_tables.parse_options(__doc__, "--check")
    return measured_tables.update_page(PAGE, "make dialogues", render(), write=not options.check)


def render() -> str:
    """Return all dialogues as Markdown."""
    given = yaml.safe_load(Path(__file__).with_name("dialogues.yaml").read_text(encoding="utf-8"))
    with over_mock_api() as (client, _):
        return "\n".join(_render(number, Dialogue(**one), client) for number, one in enumerate(given, 1))


def _render(number: int, dialogue: Dialogue, client: Client) -> str:
    client, blocks, counted = replace(client, key=dialogue.key), [], 0
    calls = list(dialogue.calls)
    for name, arguments in calls:
        answer = client.call(name, arguments)
        sent = json.dumps(arguments, ensure_ascii=False)
        blocks.append(f"> {name} {sent}\n{answer.text}")
        counted += tokens(sent) + tokens(answer.text)
        if dialogue.follows and len(calls) == len(blocks) == len(dialogue.calls):
            proposal = proposed_call(name, arguments, answer)
            assert proposal is not None, f"no next call in {answer.text}"
            calls.append(proposal)
    fenced = "\n".join(["```text", "\n\n".join(blocks), "```"])
    said = "One call and its answer" if len(calls) == 1 else f"{len(calls)} calls and their answers"
    return f"## {number}. {dialogue.question}\n\n{dialogue.remark}\n\n{fenced}\n\n{said}: {counted:,} tokens.\n"


if __name__ == "__main__":
    raise SystemExit(main())
