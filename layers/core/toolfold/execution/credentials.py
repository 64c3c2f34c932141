"""Read the keys that a request carries. A key is used for one call, and is never stored, logged or returned.

``execution.api_keys`` decides which key a call sends. Which credential of a request reaches which source:

=====================================  ================================================================================
``X-API-Key-<id>: KEY``                the source ``<id>`` alone; ``-`` in the name stands for ``_`` in the id.
                                       ``X-Source-<id>`` is the same header by another name
``Authorization: Bearer KEY``,         the source that accepts callers' keys (``auth.caller_key``); where several do, an
``X-API-Key: KEY``, ``?apikey=KEY``    error that names the header above
a JSON Web Token in one of these       none: a token is issued for one audience, and that is not the source
another scheme than Bearer             none
what the gateway has used itself       none; see ``transports.lambda_handler``
=====================================  ================================================================================

A header that is repeated, or that a gateway joined with a comma, is an error: which key is meant cannot be known.

Approvals and the audit log name a caller by :func:`principal_id`.
"""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import binascii
import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from toolfold.errors import InsufficientScope
from toolfold.messages import AUTHORIZE_AGAIN

AUTHORIZATION, X_API_KEY, QUERY = "authorization", "x-api-key", "query"
"""Places of a key in a request: two headers and the query string."""

NAMED_PREFIX = f"{X_API_KEY}-"
"""Start of the header with a key for one source; the rest is the id of the source."""

NAMED_PREFIXES = (NAMED_PREFIX, "x-source-")
"""Both starts that such a header can have. The second suits credentials that are no API key, as ``user:password``."""

MAX_KEY_CHARACTERS = 4096
"""Longer than any API key, and short enough for a query string."""

_JWT_PARTS = (3, 5)
"""Parts of a signed (RFC 7515) and of an encrypted token (RFC 7516)."""


class RequestCredentials(NamedTuple):
    """The keys that an MCP request carries, each empty when absent. ``repr`` hides them.

    Attributes:
        bearer: the token of ``Authorization: Bearer``.
        x_api_key: the header ``X-API-Key``.
        query: ``?apikey=`` of the address, where the deployment allows that.
        named: id of a source → key that is meant for it.
        unused: why a credential of the request is not taken for a key, as the end of a sentence.
        conflict: why the keys of the request cannot be used at all, as a sentence; empty when they can.
        scopes: what the caller's access token allows; None: no tokens are required.
        caller: the id of the caller's principal (``protocol.http.Principal``), by which limits, approvals and logs tell
            callers apart; empty where no tokens are required.
        address: the address that the request came from; empty where the transport has none.
        approval_token: the token with which a call is repeated that needed approval.
        is_declined: whether the user has declined the call of that token.
        awaits_sign_in: whether the user has just agreed to open the page of a sign-in.
        reads_only: whether only tools that read may be called: a client may have allowed TOOL_CALL for all of them.
        profile: the profile of the path that the request came to; empty: the one without a name.
    """

    bearer: str = ""
    x_api_key: str = ""
    query: str = ""
    named: Mapping[str, str] = MappingProxyType({})
    unused: str = ""
    conflict: str = ""
    scopes: frozenset[str] | None = None
    caller: str = ""
    address: str = ""
    approval_token: str = ""
    is_declined: bool = False
    awaits_sign_in: bool = False
    reads_only: bool = False
    profile: str = ""

    def __repr__(self) -> str:
        """Return the values that are no secrets."""
        return f"RequestCredentials(scopes={self.scopes!r}, caller={self.caller!r}, unused={self.unused!r})"

    def require_scopes(self, *scopes: str) -> None:
        """Check what the access token of the caller allows.

        Raises:
            InsufficientScope: tokens are required, and this one lacks one of ``scopes``; names all that it lacks.
        """
        if self.scopes is not None and not self.scopes.issuperset(scopes):
            lacking = " ".join(scope for scope in scopes if scope not in self.scopes)
            raise InsufficientScope(
                f"The access token lacks the scope {lacking}; nothing was sent.",
                AUTHORIZE_AGAIN,
                scope=lacking,
            )

    def first(self) -> str:
        """Return the first key that is present and names no source, in the order of the attributes, or ""."""
        return self.bearer.strip() or self.x_api_key.strip() or self.query.strip()


NO_CREDENTIALS = RequestCredentials()


def principal_id(credentials: RequestCredentials, secret: bytes) -> str:
    """Return the id of the caller: that of the access token, else a hash of the API keys in the request, else "".

    Args:
        credentials: of the request.
        secret: key of the hash, so that keys cannot be found by trying.
    """
    if credentials.caller:
        return credentials.caller
    keys = [credentials.bearer, credentials.x_api_key, credentials.query, sorted(credentials.named.items())]
    if not any(keys):
        return ""
    import hashlib  # the first response has no use for it
    import hmac

    return "key-" + hmac.new(secret, b"caller " + json.dumps(keys).encode(), hashlib.sha256).hexdigest()[:32]


def read_credentials(
    headers: Iterable[tuple[str, str]],
    query: str = "",
    used_by_gateway: Collection[str] = (),
    scopes: frozenset[str] | None = None,
    caller: str = "",
    address: str = "",
) -> RequestCredentials:
    """Return the keys that a request carries.

    Args:
        headers: names in lower case, and values.
        query: the key in the query string; several joined with commas.
        used_by_gateway: the places that a gateway has taken a credential from: :data:`AUTHORIZATION`,
            :data:`X_API_KEY`, :data:`QUERY`.
        scopes: what the access token in ``Authorization`` allows, which is then no key; None: no token is required.
        caller: the id of the principal of that token.
        address: the address that the request came from.
    """
    if scopes is not None:
        used_by_gateway = {*used_by_gateway, AUTHORIZATION}
    values: dict[str, list[str]] = {QUERY: [query]} if query else {}
    for name, value in headers:
        if name in (AUTHORIZATION, X_API_KEY) or name.startswith(NAMED_PREFIXES):
            # Two spellings of one header are a repeated header.
            spelled = name.replace("_", "-")
            if spelled.startswith(NAMED_PREFIXES[1]):
                spelled = NAMED_PREFIX + spelled.removeprefix(NAMED_PREFIXES[1])
            values.setdefault(spelled, []).append(value.strip())
    found: dict[str, str] = {}
    named: dict[str, str] = {}
    unused = conflict = ""
    for name, given in values.items():
        if not any(given):
            continue
        if name in used_by_gateway:
            unused = unused or f"the gateway has used {_shown(name)} itself, which is not passed on"
            continue
        key, problem = _bearer(given[0]) if name == AUTHORIZATION else (given[0], "")
        if len(given) > 1 or "," in key:
            conflict = f"{_shown(name).capitalize()} was sent more than once, or contains a comma."
        elif key and not is_possible_key(key):
            conflict = f"{_shown(name).capitalize()} contains a key that no source can have."
        elif name.startswith(NAMED_PREFIX):
            named[name.removeprefix(NAMED_PREFIX).replace("-", "_")] = key
        elif problem or is_json_web_token(key):
            unused = unused or problem or f"{_shown(name)} contains a JSON Web Token, which is not passed on"
        else:
            found[name] = key
    return RequestCredentials(
        bearer=found.get(AUTHORIZATION, ""),
        x_api_key=found.get(X_API_KEY, ""),
        query=found.get(QUERY, ""),
        named=named,
        unused=unused,
        conflict=conflict,
        scopes=scopes,
        caller=caller,
        address=address,
    )


def _bearer(value: str) -> tuple[str, str]:
    """Return the token of an ``Authorization`` header, and why its credential is not used.

    The scheme's name is case-insensitive (RFC 9110, section 11.1).
    """
    scheme, _, token = value.partition(" ")
    if scheme.lower() == "bearer":
        return token.strip(), ""
    if ",bearer" in value.replace(" ", "").lower():
        return ",", ""  # joined by a gateway
    return "", "the header Authorization has another scheme than Bearer, which is not passed on"


def is_json_web_token(token: str) -> bool:
    """Return whether ``token`` is a JSON Web Token: its first part is the JSON object of a header (RFC 7519)."""
    parts = token.split(".")
    if len(parts) not in _JWT_PARTS:
        return False
    try:
        first = parts[0].replace("-", "+").replace("_", "/")
        header = json.loads(binascii.a2b_base64(first + "=" * (-len(first) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def is_possible_key(text: str) -> bool:
    """Return whether ``text`` can be an API key: printable ASCII of a reasonable length."""
    return text.isascii() and text.isprintable() and len(text) <= MAX_KEY_CHARACTERS


def _shown(name: str) -> str:
    shown = {
        AUTHORIZATION: "the header Authorization",
        X_API_KEY: "the header X-API-Key",
        QUERY: "the parameter apikey",
    }
    return shown.get(name, "a header X-API-Key-<source>")


def header_for(source_id: str) -> str:
    """Return the header in which a caller sends a key for one source."""
    return f"X-API-Key-{source_id.replace('_', '-')}"
