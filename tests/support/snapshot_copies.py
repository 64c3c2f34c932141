"""A snapshot of the function and two copies of it, made by ``fork``: all three have the same memory.

Python reseeds ``random`` after a fork, which does not happen after a snapshot, so the old state is restored. Run by
test_snapshot.py with the environment of a function. Reads a line before it continues, writes one JSON object a line.
"""

import json
import os
import random
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

from tests.support.lambda_handler import CONTEXT, load_gateway

HOOKS: dict[str, Any] = {}


def runtimes_hooks() -> ModuleType:
    """Return the part of the managed runtime's module that is used."""
    module: Any = ModuleType("snapshot_restore_py")
    module.register_before_snapshot = lambda hook, *values: HOOKS.update(before=lambda: hook(*values))
    module.register_after_restore = lambda hook, *values: HOOKS.update(after=lambda: hook(*values))
    return module  # type: ignore[no-any-return]


def sockets() -> int:
    """Return the number of open connections of this process."""
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of the listing
            found += os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    return found


def called(app: Any) -> Any:
    arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}, "fresh": True}
    with open("events/tool-call.json", encoding="utf-8") as file:
        event = json.load(file)
    del event["headers"]["authorization"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    event["body"] = json.dumps({**message, "params": {"name": "TOOL_CALL", "arguments": arguments}})
    return json.loads(app.handler(event, CONTEXT)["body"])["result"]["structuredContent"]


def keys_in_memory(app: Any) -> int:
    """How many API keys that were read from AWS are known."""
    return len(app.gateway.app.executor.services.secret_provider._last_good)


def tell(**said: Any) -> None:
    os.write(
        1, json.dumps({"told": said}).encode() + b"\n"
    )  # one write, not through the buffer that the copies would share


def main() -> None:
    sys.modules["snapshot_restore_py"] = runtimes_hooks()
    app = load_gateway()
    # More than a warm-up does: connections to the upstream and AWS, a secret, a cached response.
    first = called(app)
    warm, held = sockets(), keys_in_memory(app)
    HOOKS["before"]()
    tell(first=first, warm=warm, held=held, left=sockets(), left_held=keys_in_memory(app))
    sys.stdin.readline()
    state = random.getstate()
    copies = []
    for _ in range(2):
        copy = os.fork()
        if copy == 0:
            random.setstate(state)
            unseeded = random.random()
            HOOKS["after"]()
            tell(unseeded=unseeded, seeded=random.random(), answer=called(app), sockets=sockets())
            os._exit(0)
        copies.append(copy)
    for copy in copies:
        os.waitpid(copy, 0)


if __name__ == "__main__":
    main()
