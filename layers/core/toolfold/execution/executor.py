"""One call from start to end: look up, check, find the key; the rest is the keeper's.

A :class:`ToolExecutor` is made once per process. It imports what a call needs when the first call comes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.aws.clients import AwsClients
from toolfold.errors import InvalidArguments
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials, resolve_api_key
from toolfold.execution.secrets import SecretProvider

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, Tool
    from toolfold.execution.cached_executor import CachedExecutor
    from toolfold.execution.result import CallResult
    from toolfold.execution.validation import Problem
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings


class ToolExecutor:
    """Performs calls with the settings it was made with. Safe to use from many threads."""

    def __init__(self, settings: Settings, *, aws: AwsClients | None = None) -> None:
        self.settings = settings
        self.aws = aws or AwsClients()
        self._secrets = SecretProvider(self.aws, settings.secret_ttl_s, settings.secret_timeout_s)
        self._keepers: dict[str, CachedExecutor] = {}
        self._lock = threading.Lock()

    def call(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: Mapping[str, Any],
        credentials: RequestCredentials = NO_CREDENTIALS,
        *,
        bypass_cache: bool = False,
        deadline: float | None = None,
    ) -> CallResult:
        """Perform one call, or answer it from what is held.

        Args:
            arguments: as the model sent them; checked here, before anything is sent.
            credentials: the keys that came with the request.
            bypass_cache: whether to ask the upstream even when a good answer is held.
            deadline: when the outcome must be there, by ``time.monotonic``; the settings' time-out holds in any case.

        Raises:
            CallError: every way in which a call can fail; see ``errors``.
        """
        from toolfold.execution.validation import validator_of

        checked, problems = validator_of(catalog, tool).validate(arguments)
        if problems:
            raise _invalid(tool, problems)
        source = catalog.source(tool.source)
        key = resolve_api_key(source, credentials, self._secrets)
        return self._keeper(source.backend).call(source, tool, checked, key, bypass_cache, deadline)

    def reset(self) -> None:
        """Drop what is held, counted and known of calls, API keys read from AWS, and idle connections."""
        with self._lock:
            self._keepers.clear()
            self._secrets.reset()
            self.aws.reset()
        if "http_client" in vars(self):
            self.http_client.close()

    @functools.cached_property
    def http_client(self) -> HttpClient:
        """The HTTP client of all calls, made by the first one: its import takes longer than a first response."""
        from toolfold.network.session import HttpClient

        return HttpClient()

    def _keeper(self, backend: str) -> CachedExecutor:
        # Imported on the first call, so that listing and describing tools never pays for it.
        with self._lock:
            if backend not in self._keepers:
                from toolfold.execution.cached_executor import CachedExecutor
                from toolfold.sources.http_api import adapter

                module = {"http_api": adapter}[backend]
                call = functools.partial(module.call, http_client=self.http_client)
                self._keepers[backend] = CachedExecutor(self.settings, call, module.base_url_for, aws=self.aws)
            return self._keepers[backend]


def _invalid(tool: Tool, problems: list[Problem]) -> InvalidArguments:
    first = problems[0]
    more = f" ({len(problems) - 1} more in problems)" if len(problems) > 1 else ""
    return InvalidArguments(
        f"{tool.name}: {first['parameter']} {first['problem']}: {first['expected']}{more}.",
        "Correct the arguments by the schema and call again; nothing was sent.",
        problems=problems,
        schema=tool.parameters,
    )
