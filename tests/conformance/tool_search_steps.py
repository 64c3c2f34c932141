"""An agent loop with the SDK of Anthropic or OpenAI, whose tools come from ``toolfold.client``.

    python tool_search_steps.py anthropic http://127.0.0.1:8080/mcp http://127.0.0.1:9000
    python tool_search_steps.py openai http://127.0.0.1:8080/mcp http://127.0.0.1:9000

The last word is the address of the API. Everything that is sent is checked against the SDK's own types; the SDK itself
does not do that. Prints the last text, and how often the API was called, as one line of JSON. Runs in an environment
with the SDK, and ``layers/core`` on the path of Python.
"""

import json
import sys
from typing import Any

from toolfold.client import AnthropicToolSearch, Client, OpenAIToolSearch

QUESTION = "What does Apple cost?"


def checked(kind: Any, value: Any) -> Any:
    """Return ``value``, which has the type that the SDK declares.

    Raises:
        pydantic.ValidationError: it has not.
    """
    from pydantic import TypeAdapter

    TypeAdapter(kind).validate_python(value, strict=False)
    return value


def run_anthropic(client: Client, address: str) -> tuple[str, int]:
    """Return the last text of a model behind the Messages API, and the number of its answers."""
    from anthropic import Anthropic
    from anthropic.types import ToolParam, ToolResultBlockParam

    search = AnthropicToolSearch(client)
    tools = checked(list[ToolParam], search.tools())
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    api = Anthropic(api_key="none", base_url=address, max_retries=0)
    for count in range(1, 10):
        message = api.messages.create(model="local", max_tokens=500, tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            return message.content[0].text, count
        messages.append(
            {"role": "user", "content": checked(list[ToolResultBlockParam], search.answer(message.content))}
        )
    raise AssertionError("the model does not end")


def run_openai(client: Client, address: str) -> tuple[str, int]:
    """Return the last text of a model behind the Responses API, and the number of its answers."""
    from openai import OpenAI
    from openai.types.responses import ResponseInputItemParam, ToolParam

    search = OpenAIToolSearch(client, about="market data")
    tools = checked(list[ToolParam], search.tools())
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    api = OpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0)
    for count in range(1, 10):
        response = api.responses.create(model="local", input=items, tools=tools)
        items += response.output
        answers = checked(list[ResponseInputItemParam], search.answer(response.output))
        if not answers:
            return response.output_text, count
        items += answers
    raise AssertionError("the model does not end")


def main(sdk: str, url: str, address: str) -> None:
    """Run the loop of one SDK."""
    with Client(url, api_key="LOCALKEY01234567") as client:
        text, count = {"anthropic": run_anthropic, "openai": run_openai}[sdk](client, address)
    print(json.dumps({"text": text, "requests": count}))


main(*sys.argv[1:])
