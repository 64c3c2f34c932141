"""The adapter of HTTP APIs whose tools have a ``function``. The first call imports it, not the first response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from toolfold.errors import InvalidArguments, UpstreamError
from toolfold.messages import SECURE_URL
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.network.ssrf import is_secure_url
from toolfold.sources.base import SourceAdapter
from toolfold.sources.http_api.faults import ResponseParser
from toolfold.sources.http_api.request import MAX_URL_CHARS, HttpRequest, exchange_for, function_request
from toolfold.sources.http_api.transport_errors import SMALLER_RESPONSE_HINT, parse_retry_after

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.sources.base import AdapterContext


class HttpApiAdapter(SourceAdapter):
    """Call an HTTP API. See :class:`toolfold.sources.base.SourceAdapter`.

    A source with habits of its own extends this class; what may differ are the methods and attributes without
    underscore.

    Attributes:
        parser_type: interprets responses.
        smaller_response_hint: the next step after a response that is too large.
    """

    parser_type: ClassVar[type[ResponseParser]] = ResponseParser
    smaller_response_hint: ClassVar[str] = SMALLER_RESPONSE_HINT

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source = source
        self._settings = context.settings
        self._exchange = exchange_for(source, context, self.smaller_response_hint)
        self._parser = self.parser_type(source)

    @property
    def endpoint(self) -> str:
        """Where calls are sent: the source's address, or the one that the operator set."""
        return self._settings.source_urls.get(self.source.id, self.source.base_url)

    def build_request(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> HttpRequest:
        """Return the request of one call of a tool with a ``function``, with the API key."""
        return function_request(self.source, tool, arguments, self.endpoint, credentials.api_key)

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for arguments that cannot be sent."""
        check_length(tool, self.build_request(tool, arguments, credentials).url)

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Send one call and read the whole response, before ``deadline`` and within the settings' size."""
        check_scheme(self.endpoint)
        request = self.build_request(tool, arguments, credentials)
        response = self._exchange(request, deadline)
        # Bytes that are not UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole response,
        # and the replacement shows.
        text = response.body.decode("utf-8", errors="replace")
        wait_s = parse_retry_after(response.headers.get("retry-after", ""), response.headers.get("date", ""))
        return UpstreamResponse(response.status, text, wait_s)

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``, unaltered. See :meth:`ResponseParser.parse`."""
        return self._parser.parse(tool, arguments, response, credentials)


def check_length(tool: Tool, url: str) -> None:
    """Check that a URL can be sent.

    Raises:
        InvalidArguments: it is longer than :data:`MAX_URL_CHARS`.
    """
    if len(url) > MAX_URL_CHARS:
        raise InvalidArguments(
            f"{tool.name}: the arguments make a URL of {len(url):,} characters; {MAX_URL_CHARS:,} are allowed.",
            "Shorten the longest argument, or split the call into several with fewer items; nothing was sent.",
        )


def check_scheme(url: str) -> None:
    """Check that a key can be sent to a URL.

    Raises:
        UpstreamError: it is neither https nor of this machine.
    """
    if not is_secure_url(url):
        raise UpstreamError("The URL set for this source is not https, so the key is not sent to it.", SECURE_URL)
