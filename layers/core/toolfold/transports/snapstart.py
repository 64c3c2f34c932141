"""Prepare environments that Lambda initialises before any request: provisioned concurrency and SnapStart.

SnapStart takes a snapshot of an environment's memory and restores it any number of times: days later, side by side, on
other machines. No request waits for such an initialisation, so everything that the first ``TOOL_CALL`` needs is
imported here. The snapshot holds no connection, no credentials and no API key; a restored environment trusts nothing
that depends on the time, and draws random numbers of its own.

- https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html
- https://docs.aws.amazon.com/lambda/latest/dg/snapstart-uniqueness.html
- https://docs.aws.amazon.com/lambda/latest/dg/snapstart-runtime-hooks-python.html

Not imported by environments that are initialised for a request.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import random
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolfold.aws.clients import error_code
from toolfold.protocol.jsonrpc import Message

if TYPE_CHECKING:
    from toolfold.app import App

logger = logging.getLogger("toolfold")

_USED_BY_REQUESTS = (
    "encodings.utf_8_sig",
    "jsonschema_rs",
    "pydantic_monty",
    "rapidfuzz",
    "toolfold.cache.dynamodb",
    "toolfold.execution.services",
    "toolfold.meta_tools.inspection",
    "toolfold.meta_tools.plan",
    "toolfold.meta_tools.tool_script",
    "toolfold.network.session",
    "toolfold.results.select.engine",
    "toolfold.sources.http_api.adapter",
)
"""Modules that are imported when they are first needed, with all that these import.
``tests/integration/test_snapshot.py`` finds missing ones. No process of scripts is started: copies of a snapshot would
share its random numbers."""

_USED_BY_TOKENS = ("joserfc.jwk", "joserfc.jws", "joserfc.jwt")


def prepare(app: App) -> None:
    """Open the catalog, answer one request of each kind, and import what the first ``TOOL_CALL`` needs.

    ``TOOL_CALL`` itself is not called: that would need an API key, and send a request to the upstream. Where a snapshot
    will be taken, the hooks around it are registered. Never raises: what fails here is done by the first request, as in
    any other environment.
    """
    _run_all(
        lambda: _import_libraries(app),
        lambda: app.executor.warm_up(app.catalog_store().sources),
        lambda: _answer_sample_requests(app),
    )
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        import snapshot_restore_py as runtime  # part of the managed runtime

        runtime.register_before_snapshot(before_snapshot, app)
        runtime.register_after_restore(after_restore, app)


def before_snapshot(app: App) -> None:
    """Drop what a snapshot must not contain, and as much as possible besides. Never raises."""
    _run_all(app.reset)
    gc.collect()
    # Later collections skip what is here now: looking through it would fetch all its pages from the snapshot.
    gc.freeze()


def after_restore(app: App) -> None:
    """Start as if there had been no request, with random numbers that no other copy has. Never raises.

    ``os.urandom``, and with it ``secrets`` and ``uuid4``, ask the kernel, which Lambda seeds for each copy.
    """
    _run_all(random.seed, lambda: ssl.RAND_add(os.urandom(32), 32.0), app.reset)


def _import_libraries(app: App) -> None:
    for name in (*_USED_BY_REQUESTS, *(_USED_BY_TOKENS if app.authorization is not None else ())):
        with suppress(ModuleNotFoundError):  # of an extra that is not installed
            importlib.import_module(name)
    # Certificates take long to read, and outlive the connections.
    app.executor.http_client().load_certificates()
    settings, environment = app.settings, " ".join(os.environ.values())
    is_used = {
        "dynamodb": bool(settings.cache_table),
        "s3": settings.offload.startswith("s3://") or bool(settings.cache_bucket),
        "secretsmanager": ":secretsmanager:" in environment,
        "ssm": "ssm:" in environment,
    }
    app.aws.preload(*[service for service, used in is_used.items() if used])


def _answer_sample_requests(app: App) -> None:
    """Answer requests that need no API key: those of a client that looks for a tool."""
    tool = app.catalog_store().summary(0).name
    sent: list[tuple[str, dict[str, object]]] = [
        ("initialize", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "TOOL_LIST", "arguments": {}}),
        ("tools/call", {"name": "TOOL_LIST", "arguments": {"query": tool.replace("_", " ")}}),
        ("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": tool}}),
    ]
    for method, params in sent:
        app.server.handle_message(Message(method, params, 0))


def _run_all(*steps: Callable[[], object]) -> None:
    """Run every step, even when one of them fails: a hook that raises would end the environment."""
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the first request meets the same error, and can report it
            logger.warning("Preparing this environment for requests failed: %s", error_code(error))
