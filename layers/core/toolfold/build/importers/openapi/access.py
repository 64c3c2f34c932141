"""Choose where the calls of a source are sent, and how they authenticate: among the servers and the security schemes.

A source has one credential. Of several schemes, the one that most operations accept alone is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from toolfold.build.importers.openapi.document import Api, DocumentError, dict_at, dicts_in
from toolfold.build.importers.openapi.operations import Operation
from toolfold.catalog import json_schema
from toolfold.catalog.text_checks import host_of

_TOKEN = re.compile(r"(?:(?:access|api|auth|bearer|o_?auth)[_-]?)?token", re.IGNORECASE)
_API_KEY = re.compile(r"[\w-]{0,40}api[_-]?key", re.IGNORECASE)
_AUTHENTICATES = re.compile("authenticat|authoriz|oauth|bearer", re.IGNORECASE)
_PLACES = {"header": "header", "query": "query_key", "cookie": "cookie"}
"""Location of a key → the key of ``auth`` in ``source.yaml`` with its name."""

Schemes = Mapping[str, Mapping[str, Any] | None]
"""Name of a security scheme → fields of ``auth`` in ``source.yaml``; None for one that cannot be used."""


def read_schemes(api: Api, server: str) -> Schemes:
    """Return the security schemes of a document; relative URLs relate to ``server`` (OpenAPI 3.1, section 4.6)."""
    found: dict[str, Mapping[str, Any] | None] = {}
    for name, value in dict_at(api.data, "components", "securitySchemes").items():
        found[str(name)] = None
        with suppress(DocumentError):
            found[str(name)] = _auth(dict_at(api.follow(value)), server)
    return found


def _auth(scheme: Mapping[str, Any], server: str) -> Mapping[str, Any] | None:
    kind, name = scheme.get("type"), scheme.get("name")
    if kind == "apiKey" and isinstance(name, str) and name:
        # Kubernetes describes its bearer tokens as the value of a header.
        if name.lower() == "authorization" and "bearer" in str(scheme.get("description", "")).lower():
            return {"bearer": True}
        place = _PLACES.get(str(scheme.get("in")))
        return {place: name} if place else None
    if kind == "http" and str(scheme.get("scheme")).lower() in ("bearer", "basic"):
        return {str(scheme["scheme"]).lower(): True}
    if kind == "oauth2":
        # Other flows than client credentials need a person: their token is given instead.
        token_url = dict_at(scheme, "flows", "clientCredentials").get("tokenUrl")
        if isinstance(token_url, str) and token_url:
            return {"oauth2": {"token_url": urljoin(f"{server}/", token_url), "scopes": []}}
    return {"bearer": True} if kind in ("oauth2", "openIdConnect") else None


def undeclared_key(operations: Iterable[Operation], api: Api) -> Schemes:
    """Return the key that operations without schemes describe as a parameter, which is left out then."""
    found: Counter[tuple[str, str]] = Counter()
    for operation in operations:
        with suppress(DocumentError):  # which binding the operation reports
            found.update((str(one.get("in")), str(one.get("name"))) for one in operation.parameters(api))
    keys = [(at, name) for (at, name), _ in found.most_common() if at in ("header", "query")]
    return {name: {_PLACES[at]: name} for at, name in [key for key in keys if _API_KEY.fullmatch(key[1])][:1]}


def token_names(operations: Sequence[Operation], api: Api) -> frozenset[str]:
    """Return the names of tokens that half of ``operations`` have as parameters or fields. Those of few are data."""
    found: Counter[str] = Counter()
    for operation in operations:
        given: list[dict[str, Any]] = []
        with suppress(DocumentError):
            given += operation.parameters(api)
            given += dicts_in([*dict_at(api.follow(operation.value.get("requestBody")), "content").values()])
        parts = [part for one in given for part in json_schema.parts(api.data, one.get("schema"))]
        names = {str(one.get("name")) for one in given}.union(*(dict_at(part, "properties") for part in parts))
        found.update(filter(_TOKEN.fullmatch, names))
    return frozenset(name for name, count in found.items() if 2 * count >= len(operations))


class Credentials(NamedTuple):
    """What authentication sends, not the caller: ``places``, location and name; ``tokens``, described as well."""

    places: frozenset[tuple[str, str]]
    tokens: frozenset[str]

    def include(self, location: str, name: str, description: object = "") -> bool:
        """Return whether authentication sends the parameter, or field of a ``body``, ``name``."""
        is_place = (location, name.lower() if location == "header" else name) in self.places
        return is_place or (name in self.tokens and _AUTHENTICATES.search(str(description)) is not None)


def scheme_like(auth: Mapping[str, Any], schemes: Schemes) -> str | None:
    """Return the name of the scheme that sends the key where ``auth`` states it, or None."""
    kinds = {"bearer", "oauth2"} if {"bearer", "oauth2"} & auth.keys() else set(auth)
    return next((name for name, scheme in schemes.items() if scheme is not None and kinds & scheme.keys()), None)


class Security(NamedTuple):
    """What an operation requires: ``own``, its value of ``security``, or ``common``, that of the document."""

    own: Any
    common: Any

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The alternatives, each scheme → scopes. An empty one: no credential is needed."""
        return dicts_in(self.own if isinstance(self.own, list) else self.common)

    def scopes(self, name: str) -> list[str]:
        """Return the scopes of OAuth 2.0 that are required of the scheme called ``name``."""
        found: list[Any] = next((one[name] for one in self.listed if isinstance(one.get(name), list)), [])
        return [scope for scope in found if isinstance(scope, str) and scope.isprintable()]

    def unmet(self, chosen: str | None) -> set[str]:
        """Return the schemes that are needed beside ``chosen``; empty where the operation can be called."""
        return min((one.keys() - {chosen} for one in self.listed), key=len, default=set())

    @property
    def need(self) -> str:
        """Whether the credentials of the source are needed: ``none``, ``optional`` or ``required``.

        Documents leave requirements out, so that the credentials are sent where there are some and none is stated.

        >>> key = {"key": []}
        >>> Security([], [key]).need, Security([{}, key], None).need, Security(None, [key]).need
        ('none', 'optional', 'required')
        """
        if not isinstance(self.own, list) and not (isinstance(self.common, list) and self.common):
            return "optional"
        return "required" if self.listed and all(self.listed) else "optional" if any(self.listed) else "none"


def choose_scheme(operations: Iterable[Security], schemes: Schemes) -> str | None:
    """Return the name of the scheme that most ``operations`` accept alone; None where no operation needs one.

    Of a document that has schemes and no requirements, the first scheme is used: they were left out.
    """
    usable = [name for name, scheme in schemes.items() if scheme is not None]
    alternatives = [one for security in operations for one in security.listed]
    if not alternatives:
        return usable[0] if usable else None
    # A scheme among several that are needed together is better than none, where nothing else is stated.
    counts = {name: sum(one.keys() == {name} for one in alternatives) for name in usable}
    named = [name for name in usable if any(name in one for one in alternatives)]
    return max(named, key=lambda name: counts[name], default=None)


_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
_MAX_SERVERS = 50
_SET_BASE_URL = "set base_url in source.yaml, with --base-url where it is added"


def choose_server(listed: Any, document_url: str) -> str:
    """Return the first of the ``listed`` servers that calls can be sent to, without a slash at its end.

    A relative URL relates to where the document was fetched from.

    Raises:
        ValueError: No server can be used; ``str()`` says why.
    """
    refusals: dict[str, None] = {}
    for server in listed[:_MAX_SERVERS] if isinstance(listed, list) else []:
        try:
            return _address(server, document_url).partition("#")[0].partition("?")[0].rstrip("/")
        except ValueError as refusal:
            refusals[str(refusal)] = None
    raise ValueError("; ".join(refusals) or f"has no server; {_SET_BASE_URL}")


def _address(server: Any, document_url: str) -> str:
    """Return the URL of a server; raises ``ValueError`` with the reason where calls cannot be sent to it."""
    if not isinstance(server, dict) or not isinstance(server.get("url"), str):
        raise ValueError("a server has no url")

    def default(found: re.Match[str]) -> str:
        value = dict_at(server, "variables", found[1]).get("default")
        if value is None or value == "":
            raise ValueError(f"variable {found[1]!r} of the server has no value; {_SET_BASE_URL}")
        return str(value)

    url = _VARIABLE.sub(default, server["url"]).strip()
    url = url if urlsplit(url).scheme else urljoin(document_url, url)
    if not urlsplit(url).scheme:
        raise ValueError(f"server {url[:120]!r} is relative; {_SET_BASE_URL}, or url to where the document is")
    if not host_of(url.partition("#")[0]):
        raise ValueError(f"server {url[:120]!r} is not an https URL without user name; {_SET_BASE_URL}")
    return url


def common_base(urls: Sequence[str]) -> str:
    """Return the longest URL that begins each of ``urls``, which have one origin, at the end of a path segment.

    Example:
        >>> common_base(["https://a.test/v1", "https://a.test/v2"]), common_base(["https://a.test/v1"])
        ('https://a.test', 'https://a.test/v1')
    """
    segments = zip(*(url.split("/") for url in urls), strict=False)
    return "/".join(first for first, *_ in takewhile(lambda same: len(set(same)) == 1, segments))
