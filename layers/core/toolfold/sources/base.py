"""The interface between the executor and the sources: adapters, which are found by the kind of a source, and failures.

Whether a retry may help, and what was sent::

    CallError
    ├── UpstreamError
    │   ├── ConnectionFailed (Retryable)           a connection that broke, or a response that says "not now"
    │   │   └── NotConnected (NotSent)             no connection
    │   └── ConnectionNotPossible (NotSent)        no connection, and a retry cannot help
    └── UpstreamTimeout
        └── ConnectTimeout (Retryable, NotSent)    no connection in time
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.errors import CatalogUnavailable, UpstreamError, UpstreamTimeout
from toolfold.messages import TELL_OPERATOR_TO
from toolfold.network.errors import NotSent

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

_DAY_S = 86_400


class Retryable:
    """Mark an error after which a retry may help: ``retry_after_s`` in the details where the upstream named a wait."""


class ConnectionFailed(Retryable, UpstreamError):
    """No connection, a connection that broke, or a response that says "not now"."""


class NotConnected(NotSent, ConnectionFailed):
    """No connection: DNS, TCP, TLS or the proxy failed."""


class ConnectionNotPossible(NotSent, UpstreamError):
    """No connection until the operator changes a setting: an address, a proxy or a file of certificates."""


class ConnectTimeout(NotSent, Retryable, UpstreamTimeout):
    """No connection in the time that a connection may take."""


@dataclass(frozen=True)
class CachePolicy:
    """How a response may be cached.

    Attributes:
        ttl_s: seconds for which it is fresh; 0 or less: it is not cached.
        varies_by_key: whether another API key may be given another response. It is then cached for its key alone.
    """

    ttl_s: float
    varies_by_key: bool


@dataclass(frozen=True)
class AdapterContext:
    """What every adapter is made with.

    Attributes:
        settings: the settings in force.
        get_http_client: returns what sends HTTP requests, with one pool of connections for all sources. Called when
            something is to be sent: importing requests takes longer than answering from the cache.
        read_file: returns content of the current catalog by its SHA-256 (``Catalog.file``), or None.
    """

    settings: Settings
    get_http_client: Callable[[], HttpClient]
    read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None

    def max_bytes(self, source: Source) -> int:
        """Return the bytes that a response of ``source`` may have: as the settings say, or fewer by its own limit."""
        most = self.settings.max_response_bytes
        return min(most, source.connection.get("max_response_bytes") or most)


class SourceAdapter(Protocol):
    """Reach one source. Made once per process and source, and used from many threads.

    The executor has validated the arguments and found the credentials; it caches, joins, limits and retries. An adapter
    sends what it is given, once, and says what the response means. One that extends this class has its defaults.

    Attributes:
        source: the source.
    """

    source: Source

    @property
    def endpoint(self) -> str:
        """Where calls are sent. Responses of another endpoint are other cache entries."""

    @property
    def smaller_response_hint(self) -> str:
        """The next step after a response that is too large."""

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for a call that cannot be sent, before it waits for its turn or counts against a limit.

        By default every call can be.

        Raises:
            InvalidArguments: the arguments are too large for a request.
        """

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Send one call and read the whole response before ``deadline`` (``time.monotonic``).

        A tool whose effect is not ``read`` must be sent once, also when the connection breaks.

        Raises:
            CallError: no response; a :class:`toolfold.sources.base.Retryable` one where a retry may help.
        """

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``, unaltered: what is cached does not depend on who called.

        Raises:
            CallError: the response is a failure, or has no data. Text of the upstream in it may repeat the API key
                only as a whole: shortened text is redacted first.
        """

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Return how the response to this call, fetched at ``now`` (seconds since 1970), may be cached.

        By default as long as the freshness class says, and for its key alone. That does not depend on ``now``.
        """
        return CachePolicy(self.source.freshness.get(tool.freshness, 0), varies_by_key=True)

    def quota_resets_at(self, now: float) -> float:
        """Return when the daily quota of an API key that holds at ``now`` is reset (seconds since 1970).

        By default at midnight in UTC.
        """
        return (now // _DAY_S + 1) * _DAY_S


_HTTP = "toolfold.sources.http_api.adapter:HttpApiAdapter"

BUILT_IN: Mapping[str, str] = {
    "alpha_vantage": "toolfold.sources.alpha_vantage:AlphaVantageAdapter",
    "http_api": _HTTP,
    "mcp": "toolfold.sources.mcp.adapter:McpAdapter",
    "openapi": _HTTP,
    "skills": "toolfold.sources.skills:SkillsAdapter",
    "sql": "toolfold.sources.sql.adapter:SqlAdapter",
}
"""Kind → module and factory. Imported by the first call, so that listing tools never pays for it."""


def create_adapter(source: Source, context: AdapterContext) -> SourceAdapter:
    """Make the adapter of ``source``.

    Raises:
        CatalogUnavailable: there is no adapter of its kind.
    """
    kind = source.kind
    if kind not in BUILT_IN:
        raise CatalogUnavailable(
            f"{source.title} cannot be reached: its adapter is not installed here.",
            TELL_OPERATOR_TO.filled(do=f"install a toolfold that has the adapter {kind}."),
        )
    module, _, attribute = BUILT_IN[kind].partition(":")
    adapter: SourceAdapter = getattr(importlib.import_module(module), attribute)(source, context)
    return adapter
