"""The adapter of HTTP APIs: it makes requests of bindings, adds the credentials to them and decodes responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urljoin, urlsplit

from toolfold.catalog.reader import damaged
from toolfold.errors import CallError, InvalidArguments, UpstreamError
from toolfold.messages import CHECK_WRITE, CORRECT_ARGUMENTS, SECURE_URL
from toolfold.models import UpstreamResponse
from toolfold.network.errors import NotSent
from toolfold.network.ssrf import is_secure_url, origin
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.sources.base import SourceAdapter
from toolfold.sources.http_api.authentication import (
    SentCredentials,
    TokenProvider,
    credentials_to_send,
    secrets_of,
    taken_names,
)
from toolfold.sources.http_api.binding import BindingError, BoundRequest, Parameter, bind, check_binding, check_header
from toolfold.sources.http_api.body import decode_content
from toolfold.sources.http_api.request import (
    MAX_URL_CHARS,
    SMALLER_RESPONSE_HINT,
    HttpRequest,
    exchange_for,
    join_url,
    stated_wait_s,
)
from toolfold.sources.http_api.response_parser import ResponseParser, next_link, stated_rows
from toolfold.sources.http_api.styles import InvalidArgument

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.models import SourceCredentials
    from toolfold.network.session import Response
    from toolfold.sources.base import AdapterContext

MAX_HEADER_CHARS = 8_000
"""Characters of all headers that arguments set: servers accept 8 KB (nginx, Apache) to 32 KB."""

MAX_REDIRECTS = 3
"""Redirects that a read follows on its own host: a missing slash at the end, a renamed resource."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MADE = frozenset({201, 202})
"""Status whose Location says where that is which was made."""
_ACCEPT = "application/json, */*;q=0.8"


class HttpApiAdapter(ResponseParser, SourceAdapter):
    """Call an HTTP API. The access tokens of the source belong to it. See :class:`toolfold.sources.base.SourceAdapter`.

    A source with habits of its own extends this class; what may differ are the methods and attributes without
    underscore.

    Attributes:
        endpoint: where calls are sent: the address of the source, or the one that the operator set.
        smaller_response_hint: the next step after a response that is too large.
        exchange: sends a request once.
    """

    endpoint = ""
    smaller_response_hint: ClassVar[str] = SMALLER_RESPONSE_HINT

    def __init__(self, source: Source, context: AdapterContext) -> None:
        super().__init__(source)
        self.endpoint = context.settings.source_urls.get(source.id, source.base_url)
        self.exchange = exchange_for(source, context, self.smaller_response_hint)
        self._headers: Mapping[str, str] = source.connection.get("headers", {})
        try:
            if not isinstance(self._headers, dict):
                raise BindingError("headers must be an object")
            for name, value in self._headers.items():
                check_header(name, value)
        except BindingError as error:
            raise damaged(f"the connection of {source.id}: {error}") from None
        self._taken = taken_names(source.auth)
        self._is_secure = is_secure_url(self.endpoint)
        self._parameters: dict[str, Sequence[Parameter]] = {}
        self._tokens = TokenProvider(source, self.exchange)

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for a call that cannot be sent.

        Raises:
            InvalidArguments: an argument cannot be sent, or all of them are too large for a request.
            CatalogUnavailable: the binding of the tool cannot be used.
        """
        bound = self._bind(tool, arguments)
        url = self._request(bound, credentials_to_send(self.source.auth, credentials.api_key)).url
        if len(url) > MAX_URL_CHARS:
            raise InvalidArguments(
                f"{tool.name}: the arguments make a URL of {len(url):,} characters; {MAX_URL_CHARS:,} are allowed.",
                "Shorten the longest argument, or split the call into several with fewer items; nothing was sent.",
            )
        if sum(map(len, (*bound.headers.values(), *bound.cookies))) > MAX_HEADER_CHARS:
            raise InvalidArguments(
                f"{tool.name}: the arguments make headers of more than {MAX_HEADER_CHARS:,} characters.",
                "Shorten the arguments that are sent as headers or cookies; nothing was sent.",
            )

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Send one call and return the response, decoded. See :meth:`toolfold.sources.base.SourceAdapter.call`."""
        if not self._is_secure:
            raise UpstreamError("The URL set for this source is not https, so the key is not sent to it.", SECURE_URL)
        bound, key, is_read = self._bind(tool, arguments), credentials.api_key, tool.effect == "read"
        for sent in self._tokens.sent_keys(key, deadline, is_read=is_read):
            try:
                response = self._send(bound, sent, deadline, is_read)
            except CallError as error:
                if not (is_read or isinstance(error, NotSent)):
                    raise type(error)(error.problem, CHECK_WRITE) from error.__cause__
                raise
            if response.status != 401:
                break
        return _decoded(response, self.endpoint, (*secrets_of(self.source.auth, key, sent), *credentials.secrets))

    def _bind(self, tool: Tool, arguments: Mapping[str, Any]) -> BoundRequest:
        try:
            if (declared := self._parameters.get(tool.hash)) is None:
                declared = self._parameters[tool.hash] = check_binding(tool.call)
            return bind(tool.call, arguments, self._taken, declared)
        except BindingError as error:
            raise damaged(f"the binding of {tool.name!a}: {error}") from None
        except InvalidArgument as error:
            raise InvalidArguments(
                f"{tool.name}: {error.argument} {error}.",
                CORRECT_ARGUMENTS,
                problems=[{"parameter": error.argument, "problem": str(error)}],
            ) from None

    def _request(self, bound: BoundRequest, sent: SentCredentials) -> HttpRequest:
        url = join_url(self.endpoint, bound.path, (*bound.query, *sent.query))
        headers = {"Accept": _ACCEPT, **self._headers, **bound.headers}
        if bound.content_type:
            headers["Content-Type"] = bound.content_type
        if cookies := (*bound.cookies, *sent.cookies):
            headers["Cookie"] = "; ".join(cookies)
        headers = {name: value for name, value in headers.items() if ("header", name.lower()) not in self._taken}
        return HttpRequest(bound.method, url, {**headers, **sent.headers}, bound.body)

    def _send(self, bound: BoundRequest, key: str, deadline: float, is_read: bool) -> Response:
        sent = credentials_to_send(self.source.auth, key)
        request = self._request(bound, sent)
        response = self.exchange(request, deadline)
        most = MAX_REDIRECTS if is_read and bound.method in ("GET", "HEAD") else 0
        while most and response.status in _REDIRECTS and (target := _redirect_target(request, response)):
            most -= 1
            names = {pair.partition("=")[0] for pair in urlsplit(target).query.split("&")}
            lacking = [pair for pair in sent.query if pair.partition("=")[0] not in names]  # of the credentials
            request = HttpRequest(bound.method, join_url(target, "", lacking), request.headers)
            response = self.exchange(request, deadline)
        return response


def _redirect_target(request: HttpRequest, response: Response) -> str:
    """Return where a redirect leads on the same host, scheme and port; empty for every other response."""
    location = response.headers.get("location", "")
    if not location or not (location.isascii() and location.isprintable()):
        return ""
    try:
        target = urljoin(request.url, location.strip())
        is_same = origin(target) == origin(request.url) and "\\" not in target and "@" not in urlsplit(target).netloc
    except ValueError:  # not a URL
        return ""
    return urlsplit(target)._replace(fragment="").geturl() if is_same and len(target) <= MAX_URL_CHARS else ""


def _decoded(response: Response, endpoint: str, secrets: tuple[str, ...]) -> UpstreamResponse:
    """Return ``response`` with its text, without the secrets that were made of the key for this call alone."""
    content = decode_content(response.body, response.headers.get("content-type", ""))
    redactor = Redactor(secrets) if secrets else NO_REDACTION
    text = redactor.redact_text(content.text) if secrets and redactor.appears_in(content.text) else content.text
    wait_s = stated_wait_s(response)
    location = _shown_target(endpoint, response) if response.status in _REDIRECTS else ""
    if response.status in _MADE and (made := response.headers.get("location", "")).isprintable():
        location = redactor.redact_text(made[:MAX_URL_CHARS])
    link = response.headers.get("link", "")
    next_url = next_link(link, endpoint) if link else ""
    if not next_url and (page := response.headers.get("x-next-page", "")).isalnum():
        next_url = f"{endpoint.partition('?')[0]}?page={page}"
    binary = b"" if content.is_text else response.body
    total = stated_rows(response.headers)
    return UpstreamResponse(response.status, text, wait_s, content.media_type, binary, location, next_url, total)


def _shown_target(endpoint: str, response: Response) -> str:
    """Return scheme, host and port of the target of a redirect, or "" without one. The rest may repeat the key."""
    location = response.headers.get("location", "").strip()
    if not location:
        return ""
    try:
        return origin(urljoin(endpoint, location))[:200]
    except ValueError:
        return "another address"
