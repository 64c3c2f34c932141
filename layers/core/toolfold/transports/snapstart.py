"""Environments that are made before anybody calls: what is done then, and what no copy of them may share.

Lambda makes an environment ahead of its requests for provisioned concurrency, and for SnapStart, which takes a snapshot
of its memory and restores it any number of times: days later, side by side, on other machines. Nobody waits for such an
initialisation, so all that the meta-tools need is imported and used once. A snapshot then holds no connection, no
credentials and no key read from AWS; a copy trusts no clock, and draws random numbers of its own.

What Lambda does: https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html, and beside it ``snapstart-uniqueness``
and ``snapstart-runtime-hooks-python``. Not imported by an environment that is made for a request.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import ssl
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from toolfold.cache import dynamodb
from toolfold.catalog.store import S3Store
from toolfold.execution import cached_executor, validation
from toolfold.meta_tools import tool_call
from toolfold.network import session
from toolfold.results import offload, output
from toolfold.results.select import evaluator, jmespath_query
from toolfold.sources.http_api import adapter, transport_errors
from toolfold.transports import lambda_events

if TYPE_CHECKING:
    from toolfold.protocol.mcp import Server
    from toolfold.transports.lambda_handler import LambdaHandler

logger = logging.getLogger("toolfold")

_USED_BY_CALLS = (
    *(session, adapter, transport_errors, dynamodb, cached_executor, validation, tool_call),
    *(evaluator, offload, jmespath_query, output),
)
"""Imported above for the first TOOL_CALL. It is not rehearsed: it would need a key, and ask the upstream."""


def prepare(gateway: LambdaHandler) -> None:
    """Warm ``gateway`` up and, where a snapshot will be taken, have the runtime call what must be done around it.

    Fails for nothing: what could not be done now is done by the first request, as in any other environment.
    """
    warm_up(gateway.server)
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        import snapshot_restore_py as runtime  # part of the managed runtime

        runtime.register_before_snapshot(before_snapshot, gateway.server)
        runtime.register_after_restore(after_restore, gateway.server)


def warm_up(server: Server) -> None:
    """Open the catalog, answer one request of each kind, and import what calls need."""
    import jmespath  # noqa: F401 - by the first path in a select

    try:
        name = server.tools.catalog().summary(0).name
        for event in _rehearsal(name):
            server.handle_http(lambda_events.parse_event(event, allow_key_in_query=False))
        # Certificates take long to read, and outlive the connections.
        server.tools.executor.http_client.load_certificates()
    except Exception as error:  # noqa: BLE001 - whatever it is, the first request will meet it where it can be told
        logger.warning("nothing is warmed up: %s", type(error).__name__)


def before_snapshot(server: Server) -> None:
    """Leave nothing in memory that must not be copied, and as little as possible besides. Never raises."""
    _each(*_what_ages(server))
    gc.collect()
    # Later collections leave alone what is here now: to look through it would fetch all of its pages from the snapshot.
    gc.freeze()


def after_restore(server: Server) -> None:
    """Begin as if nothing had been asked before, with random numbers that no other copy has. Never raises.

    ``os.urandom``, and ``secrets`` and ``uuid4`` with it, ask the kernel, which Lambda seeds anew for each copy.
    """
    _each(random.seed, lambda: ssl.RAND_add(os.urandom(32), 32.0), *_what_ages(server))


def _what_ages(server: Server) -> Iterator[Callable[[], None]]:
    """Everything that outlives a request and does not outlive its machine, its moment or its credentials."""
    catalog = server.tools.catalog
    if isinstance(catalog, S3Store):
        yield catalog.invalidate
    # Cached responses, counts and limits of keys, circuit breakers, API keys from AWS, clients of AWS.
    yield server.tools.executor.reset


def _each(*steps: Callable[[], None]) -> None:
    """All of ``steps``, whichever of them fails: a hook that raises would end the environment."""
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - as above
            logger.error("not everything was put right around a snapshot: %s", type(error).__name__)


def _rehearsal(name: str) -> Iterator[dict[str, Any]]:
    """Events that need no key, of a client that looks for the tool ``name``."""
    yield _event("initialize", {})
    yield _event("tools/list", {})
    yield _event("tools/call", {"name": "TOOL_LIST", "arguments": {}})
    yield _event("tools/call", {"name": "TOOL_LIST", "arguments": {"query": name.replace("_", " ")}})
    yield _event("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": name}})


def _event(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "2.0",
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"content-type": "application/json", "accept": "application/json, text/event-stream"},
        "body": json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}),
    }
