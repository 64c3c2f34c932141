"""Find the API key of a call. A key is used for one call, and is never stored, logged or returned.

Which credential of a request reaches which source:

=====================================  ================================================================================
``X-API-Key-<id>: KEY``                the source ``<id>`` alone; ``-`` in the name stands for ``_`` in the id.
                                       ``X-Source-<id>`` is the same header by another name
``Authorization: Bearer KEY``,         the source that accepts callers' keys (``auth.caller_key``); where several do, an
``X-API-Key: KEY``, ``?apikey=KEY``    error that names the header above
a JSON Web Token in one of these       none: a token is issued for one audience, and that is not the source
another scheme than Bearer             none
what the gateway has used itself       none; see ``transports.lambda_events``
=====================================  ================================================================================

A header that is repeated, or that a gateway joined with a comma, is an error: which key is meant cannot be known.
"""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from toolfold.errors import AuthRequired, InsufficientScope

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.execution.secrets import SecretProvider

AUTHORIZATION, X_API_KEY, QUERY = "authorization", "x-api-key", "query"
"""Places of a key in a request: two headers and the query string."""

NAMED_PREFIX = f"{X_API_KEY}-"
"""Start of the header with a key for one source; the rest is the id of the source."""

NAMED_PREFIXES = (NAMED_PREFIX, "x-source-")
"""Both starts that such a header can have. The second suits credentials that are no API key, as ``user:password``."""

MAX_KEY_CHARACTERS = 4096
"""Longer than any API key, and short enough for a query string."""

_NO_KEY = "none was given"
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
            from toolfold import messages  # few requests need it

            lacking = " ".join(scope for scope in scopes if scope not in self.scopes)
            raise InsufficientScope(
                f"The access token lacks the scope {lacking}; nothing was sent.",
                messages.AUTHORIZE_AGAIN.for_model,
                scope=lacking,
            )

    def first(self) -> str:
        """Return the first key that is present and names no source, in the order of the attributes, or ""."""
        keys = (key.strip() for key in (self.bearer, self.x_api_key, self.query))
        return next((key for key in keys if key), "")


NO_CREDENTIALS = RequestCredentials()

_REFERENCE_PREFIXES = ("arn:", "ssm:")
"""An environment variable that starts with one of these refers to a key in AWS; see ``execution.secrets``."""


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
            values.setdefault(_canonical_header(name), []).append(value.strip())
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
        elif key and not _is_key(key):
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


def _canonical_header(name: str) -> str:
    """Return the one spelling of a header with a key, so that two spellings of one header are a repeated header."""
    name = name.replace("_", "-")
    for prefix in NAMED_PREFIXES:
        if name.startswith(prefix):
            return NAMED_PREFIX + name.removeprefix(prefix)
    return name


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


def _is_key(text: str) -> bool:
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


def resolve_api_key(
    source: Source,
    credentials: RequestCredentials,
    secrets: SecretProvider,
    environment: Mapping[str, str] | None = None,
    *,
    is_only_one: bool = True,
    uses_own: bool = True,
    need: str = "required",
) -> str:
    """Return the API key that is sent to ``source``: the caller's where the source takes it, else the deployment's.

    Args:
        source: the source that is called. One without ``auth`` gets no key; only one with ``auth.caller_key`` gets a
            key that came with the request.
        credentials: the keys that came with the request.
        secrets: reads keys from AWS.
        environment: environment variables (default: the process's).
        is_only_one: whether no other source of the catalog takes callers' keys. Otherwise a key must name its source.
        uses_own: whether calls without a key may use that of the deployment.
        need: of the tool: ``none`` where it is called without a key, ``optional`` where the key may be missing.

    Returns:
        The key; empty for a source or a tool that needs none.

    Raises:
        AuthRequired: the source needs a key and has no key, AWS does not return it, or it is not clear which key of the
            request is meant.
    """
    auth = source.auth
    if auth is None or need == "none":
        return ""
    if need == "optional":
        try:
            return resolve_api_key(
                source, credentials, secrets, environment, is_only_one=is_only_one, uses_own=uses_own
            )
        except AuthRequired:
            return ""
    if auth.caller_key and (callers := _callers_key(source, credentials, is_only_one)):
        return callers
    variables = os.environ if environment is None else environment
    own = variables.get(auth.environment, "").strip()
    if (own or secrets.source_keys) and not uses_own:
        raise _not_for_all(source, auth, credentials.unused, is_only_one)
    if not _is_key(own):
        raise _malformed(source, auth)
    if own.startswith(_REFERENCE_PREFIXES):
        own = secrets.get_secret(own, is_database=source.kind == "sql")
        if not own or not _is_key(own):
            raise _unreadable(source, auth)
    elif not own:
        stored = secrets.source_key(source.id, is_database=source.kind == "sql")
        if stored is None or not _is_key(stored):
            raise _unreadable(source, auth)
        own = stored
    if not own:
        no_key = f"{_NO_KEY}: TOOLFOLD_SOURCE_KEYS has none for {source.id}" if secrets.source_keys else _NO_KEY
        raise _missing(source, auth, credentials.unused, is_only_one, no_key)
    return own


def _callers_key(source: Source, credentials: RequestCredentials, is_only_one: bool) -> str:
    if key := credentials.named.get(source.id, "").strip():
        return key
    if credentials.conflict:
        raise AuthRequired(credentials.conflict, f"Ask the user to send one key, in {header_for(source.id)}.")
    key = credentials.first()
    if key and not is_only_one:
        raise AuthRequired(
            "The key of the request does not name its source, and several sources here take callers' keys.",
            f"Ask the user to send the key of {source.title} in {header_for(source.id)}.",
        )
    if key and not _is_key(key):
        raise AuthRequired(
            f"The key of the request cannot be a key of {source.title}.",
            f"Ask the user to send it in {header_for(source.id)}: printable ASCII characters, at most "
            f"{MAX_KEY_CHARACTERS}.",
        )
    return key


def known_operator_key(source: Source, secrets: SecretProvider, environment: Mapping[str, str] | None = None) -> str:
    """Return the deployment's key for ``source``, to keep it out of answers; AWS is not called for it.

    Returns:
        The key; empty where it is not set, or was never sent: not read from AWS yet, or not a possible key.
    """
    if source.auth is None:
        return ""
    variables = os.environ if environment is None else environment
    own = variables.get(source.auth.environment, "").strip()
    if not own:
        own = secrets.last_source_key(source.id)
    elif own.startswith(_REFERENCE_PREFIXES):
        own = secrets.last_read(own)
    return own if _is_key(own) else ""


def _unreadable(source: Source, auth: Auth) -> AuthRequired:
    instead = f"; or send a key in {header_for(source.id)}" if auth.caller_key else ""
    return AuthRequired(
        f"The key that is set up here for {source.title} cannot be read at the moment.",
        f"Tell the operator, whose log says why{instead}.",
    )


def _malformed(source: Source, auth: Auth) -> AuthRequired:
    return AuthRequired(
        f"The key that is set up here for {source.title} cannot be sent.",
        f"Tell the operator that {auth.environment} must be printable ASCII characters, at most {MAX_KEY_CHARACTERS}.",
    )


def _not_for_all(source: Source, auth: Auth, unused: str, is_only_one: bool) -> AuthRequired:
    operator = "tell the operator, whose log says how to allow it"
    return AuthRequired(
        f"{source.title} needs an API key, and the one that is set up here is not for all callers.",
        f"Ask the user to send a key as {_header_of_keys(source, unused, is_only_one)}, or {operator}."
        if auth.caller_key
        else f"{operator.capitalize()}.",
    )


def _header_of_keys(source: Source, unused: str, is_only_one: bool) -> str:
    is_named = unused or not is_only_one
    return header_for(source.id) if is_named else "Authorization: Bearer or X-API-Key"


def _missing(source: Source, auth: Auth, unused: str, is_only_one: bool, no_key: str) -> AuthRequired:
    header = f", or to send it as {_header_of_keys(source, unused, is_only_one)}" if auth.caller_key else ""
    signup = f"; a key is at {auth.signup_url}" if auth.signup_url else ""
    from toolfold.messages import SET_DATABASE, SET_KEY  # needed for an error only

    if source.kind == "sql":
        return AuthRequired(
            f"{source.title} needs its connection string, which is not set.",
            SET_DATABASE.for_model.format(variable=auth.environment),
        )
    return AuthRequired(
        f"{source.title} needs an API key, and {(unused if auth.caller_key else '') or no_key}.",
        SET_KEY.for_model.format(variable=auth.environment, header=header, signup=signup),
    )
