"""A stand-in for the APIs of models, with their rules for tool search, over real HTTP.

It plays a model that searches once and calls the first tool it got. What the documents of the two APIs do not allow is
answered with 400: a reference to a tool that the request lacks, a call without its output, a name of a tool with other
characters.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.http_service import HttpService, Received, Reply, as_json

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Refused(Exception):
    """A request that the API would not accept."""


class ModelApi:
    """The answers of one model; ``requests`` has what it was sent."""

    def __init__(self, query: str, arguments: Mapping[str, Any]) -> None:
        self._query, self._arguments = query, dict(arguments)
        self.requests: list[dict[str, Any]] = []

    def answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request.

        Raises:
            Refused: The API would not accept it.
        """
        self.requests.append(request)
        for tool in request["tools"]:
            if tool.get("name") is not None and not _NAME.fullmatch(tool["name"]):
                raise Refused(f"tools: {tool['name']!r} is not a valid name")
        number, model = len(self.requests), request.get("model", "local")
        if path == "/v1/messages":
            usage = {"input_tokens": 1, "output_tokens": 1}
            return {"id": f"msg_{number}", "type": "message", "model": model, "usage": usage, **self._message(request)}
        fields = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": model, "status": "completed"}
        return {**fields, "tools": [], "tool_choice": "auto", "parallel_tool_calls": False, **self._response(request)}

    def _message(self, request: dict[str, Any]) -> dict[str, Any]:
        known = {tool["name"]: tool for tool in request["tools"]}
        if all(tool.get("defer_loading") for tool in known.values()):
            raise Refused("At least one tool must not be deferred")
        results = [
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        loaded = [
            part["tool_name"]
            for block in results
            if isinstance(block["content"], list)
            for part in block["content"]
            if part["type"] == "tool_reference"
        ]
        if unknown := set(loaded) - known.keys():
            raise Refused(f"Tool reference {unknown.pop()!r} has no definition in tools")
        search = next(name for name, tool in known.items() if not tool.get("defer_loading"))
        if not results:
            content = [{"type": "tool_use", "id": "use_1", "name": search, "input": {"query": self._query}}]
        elif len(results) == 1:
            content = [{"type": "tool_use", "id": "use_2", "name": loaded[0], "input": self._arguments}]
        else:
            content = [{"type": "text", "text": str(results[-1]["content"])}]
        used = content[0]["type"] == "tool_use"
        return {"role": "assistant", "content": content, "stop_reason": "tool_use" if used else "end_turn"}

    def _response(self, request: dict[str, Any]) -> dict[str, Any]:
        items = request["input"]
        outputs = [item for item in items if item.get("type", "").endswith("_output")]
        calls = [item["call_id"] for item in items if item.get("type") in ("tool_search_call", "function_call")]
        if calls != [item["call_id"] for item in outputs]:
            raise Refused("No tool output found for a call")
        if not outputs:
            search = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_1", "execution": "client"}
            return {"output": [{**search, "status": "completed", "arguments": {"query": self._query}}]}
        if len(outputs) == 1:
            first = outputs[0]["tools"][0]
            if not (first["type"] == "function" and "parameters" in first and first["strict"] is False):
                raise Refused("Invalid tool in tool_search_output")
            call = {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": first["name"]}
            return {"output": [{**call, "arguments": json.dumps(self._arguments)}]}
        text = {"type": "output_text", "text": outputs[-1]["output"], "annotations": []}
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
        return {"output": [message]}


@contextmanager
def model_api(query: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, ModelApi]]:
    """Run the API on a free port; yield its address, and the API."""
    api = ModelApi(query, arguments)

    def reply(received: Received) -> Reply:
        try:
            return as_json(api.answer(received.path, received.json))
        except Refused as error:
            return as_json({"error": {"type": "invalid_request_error", "message": str(error)}}, 400)

    with HttpService(reply) as service:
        yield service.url, api
