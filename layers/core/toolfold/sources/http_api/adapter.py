"""The adapter of HTTP APIs: it makes requests of bindings, adds the credentials to them and decodes responses."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urljoin, urlsplit

from toolfold.catalog.reader import damaged
from toolfold.errors import CallError, InvalidArguments, UpstreamError
from toolfold.messages import CHECK_WRITE, CORRECT_ARGUMENTS, SECURE_URL
from toolfold.models import UpstreamResponse
from toolfold.network.errors import NotSent
from toolfold.network.ssrf import is_secure_url, origin
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.sources.base import SourceAdapter
from toolfold.sources.http_api.binding import BindingError, Parameter, bind, check_binding, check_header
from toolfold.sources.http_api.oauth import TokenProvider
from toolfold.sources.http_api.request import (
    MAX_URL_CHARS,
    SMALLER_RESPONSE_HINT,
    HttpRequest,
    SentCredentials,
    credentials_to_send,
    exchange_for,
    join_url,
    secrets_of,
    stated_wait_s,
    taken_names,
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
        self._tokens = TokenProvider(source, self.exchange) if source.oauth2 and not source.signs_in else None

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for a call that cannot be sent.

        Raises:
            InvalidArguments: an argument cannot be sent, or all of them are too large for a request.
            CatalogUnavailable: the binding of the tool cannot be used.
        """
        sent = credentials_to_send(self.source.auth, credentials.api_key)
        request = self._prepare(tool, arguments, sent)
        if len(request.url) > MAX_URL_CHARS:
            raise InvalidArguments(
                f"{tool.name}: the arguments make a URL of {len(request.url):,} characters; {MAX_URL_CHARS:,} are "
                "allowed.",
                "Shorten the longest argument, or split the call into several with fewer items; nothing was sent.",
            )
        others = map(len, (*self._headers.values(), *sent.headers.values(), *sent.cookies))
        if sum(map(len, request.headers.values())) - sum(others) > MAX_HEADER_CHARS:
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
        key, is_read = credentials.api_key, tool.effect == "read"
        sent_keys = (key,) if self._tokens is None else self._tokens.sent_keys(key, deadline, is_read=is_read)
        for sent in sent_keys:
            try:
                response = self._send(tool, arguments, sent, deadline)
            except CallError as error:
                if not (is_read or isinstance(error, NotSent)):
                    raise type(error)(error.problem, CHECK_WRITE) from error.__cause__
                raise
            if response.status != 401:
                break
        return _decoded(response, self.endpoint, (*secrets_of(self.source.auth, key, sent), *credentials.secrets))

    def _prepare(self, tool: Tool, arguments: Mapping[str, Any], sent: SentCredentials) -> HttpRequest:
        try:
            if (declared := self._parameters.get(tool.hash)) is None:
                declared = self._parameters[tool.hash] = check_binding(tool.call)
            bound = bind(tool.call, arguments, self._taken, declared)
        except BindingError as error:
            raise damaged(f"the binding of {tool.name!a}: {error}") from None
        except InvalidArgument as error:
            raise InvalidArguments(
                f"{tool.name}: {error.argument} {error}.",
                CORRECT_ARGUMENTS,
                problems=[{"parameter": error.argument, "problem": str(error)}],
            ) from None
        headers = {"Accept": _ACCEPT, **self._headers, **bound.headers}
        if bound.content_type:
            headers["Content-Type"] = bound.content_type
        if cookies := (*bound.cookies, *sent.cookies):
            headers["Cookie"] = "; ".join(cookies)
        headers = {name: value for name, value in headers.items() if ("header", name.lower()) not in self._taken}
        url = join_url(self.endpoint, bound.path, (*bound.query, *sent.query))
        return HttpRequest(bound.method, url, {**headers, **sent.headers}, bound.body)

    def _send(self, tool: Tool, arguments: Mapping[str, Any], key: str, deadline: float) -> Response:
        sent = credentials_to_send(self.source.auth, key)
        request = self._prepare(tool, arguments, sent)
        response, left = self.exchange(request, deadline), MAX_REDIRECTS
        if response.status not in _REDIRECTS or tool.effect != "read" or request.method not in ("GET", "HEAD"):
            return response
        while left and (target := _redirect_target(request, response)):
            left -= 1
            names = {pair.partition("=")[0] for pair in urlsplit(target).query.split("&")}
            lacking = [pair for pair in sent.query if pair.partition("=")[0] not in names]  # of the credentials
            request = HttpRequest(request.method, join_url(target, "", lacking), request.headers)
            response = self.exchange(request, deadline)
        return response


def _redirect_target(request: HttpRequest, response: Response) -> str:
    """Return where a redirect leads on the same host, scheme and port; empty for every other response."""
    location = response.headers.get("location", "")
    if response.status not in _REDIRECTS or not location or not (location.isascii() and location.isprintable()):
        return ""
    try:
        target = urljoin(request.url, location.strip())
        is_same = origin(target) == origin(request.url) and "\\" not in target and "@" not in urlsplit(target).netloc
    except ValueError:  # not a URL
        return ""
    return urlsplit(target)._replace(fragment="").geturl() if is_same and len(target) <= MAX_URL_CHARS else ""


_MEDIA_TYPE = re.compile(r"\s*([\w!#$&^.+-]{1,80}/[\w!#$&^.+-]{1,80})\s*(?:;|$)", re.ASCII)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]{1,40})", re.ASCII | re.IGNORECASE)
_CHARSETS = re.compile(
    r"utf-?(8|16|16le|16be|32)(-sig)?|(us-)?ascii|(iso-?)?8859-\d{1,2}|iso-?8859-\d{1,2}|latin-?1|(windows|cp)-?125\d|koi8-[ru]"
    r"|shift[_-]?jis|euc-(jp|kr)|gb(k|2312|18030)|big5|iso-2022-jp|macintosh",
    re.IGNORECASE,
)
"""Encodings that responses have. Python has further codecs, which are no encodings of texts or take long."""

_ONE_BYTE = re.compile(r"(iso-?)?8859-\d{1,2}|latin-?1|(windows|cp)-?125\d")
"""Encodings that read any bytes, and that frameworks name by default: what is UTF-8 is not in one of them."""

_XML_ENCODING = re.compile(r"\s*<\?xml[^>]{1,80}?encoding=[\"']([\w.:-]{1,40})")

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How texts in UTF-16 begin, also where a header names another encoding; no text in UTF-8 does."""

_TEXT_TYPES = re.compile(
    r"text/.*|.*[/+](json|xml|yaml|x-yaml|csv|toml|x-ndjson|ndjson|jsonl|x-jsonlines|javascript|ecmascript|graphql|sql"
    r"|x-www-form-urlencoded|rtf|x-sh|ld\+json|vnd\.api\+json)",
    re.IGNORECASE,
)
_CONTROL = re.compile("[\x00-\x06\x0e\x0f]")
"""Characters that no text has."""


class Content(NamedTuple):
    """What a response contains.

    Attributes:
        media_type: in lower case, without parameters; empty where the response has none that can be read.
        text: the text; empty for other content.
        is_text: whether it is text.
    """

    media_type: str
    text: str
    is_text: bool


def decode_content(body: bytes, content_type: str) -> Content:
    """Return what ``body`` is. Bytes that the encoding of a text does not have become U+FFFD.

    What names no type, or one that may be text or not, is text where it is UTF-8 without control characters.
    """
    found = _MEDIA_TYPE.match(content_type)
    media_type = found[1].lower() if found else ""
    if _TEXT_TYPES.fullmatch(media_type):
        return Content(media_type, _decode_text(body, content_type), True)
    if media_type.partition("/")[0] in ("image", "audio", "video", "font", "model"):
        return Content(media_type, "", False)
    try:
        text = body.decode("utf-16" if body.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError:
        return Content(media_type, "", False)
    is_text = _CONTROL.search(text, 0, 4096) is None and text[:4] != "%PDF"
    return Content(media_type, text if is_text else "", is_text)


def _decode_text(body: bytes, content_type: str) -> str:
    if body.startswith(_UTF16):
        return body.decode("utf-16", errors="replace")
    found = _CHARSET.search(content_type) or _XML_ENCODING.match(body[:200].decode("latin-1"))
    charset = found[1].lower() if found and _CHARSETS.fullmatch(found[1]) else ""
    text = body.decode("utf-8-sig", errors="replace")
    is_named = charset.replace("-", "") in ("utf8", "usascii", "ascii")
    is_utf8 = text.count("\ufffd") == body.count("\ufffd".encode())  # a service may itself have replaced bytes
    if is_named or (is_utf8 and (not charset or _ONE_BYTE.fullmatch(charset))):
        return text
    # Without a name that helps: Western European, as browsers take it, unless other letters are there in UTF-8.
    if not charset:
        return body.decode("cp1252", errors="replace") if text.replace("\ufffd", "").isascii() else text
    try:
        return body.decode(charset, errors="replace")
    except LookupError:
        return text


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
