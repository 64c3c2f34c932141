"""Find the API key of a call: the caller's, where its source takes keys of callers, or that of the deployment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolfold.errors import AuthRequired
from toolfold.execution.credentials import MAX_KEY_CHARACTERS, RequestCredentials, header_for, is_possible_key
from toolfold.messages import (
    ALLOW_KEY,
    CORRECT_KEY,
    READ_KEY,
    SEND_KEY,
    SEND_OTHER_KEY,
    SET_DATABASE,
    SET_KEY,
)

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.execution.secrets import SecretProvider

__all__ = ["known_operator_key", "resolve_api_key"]

_REFERENCE_PREFIXES = ("arn:", "ssm:")
"""An environment variable that starts with one of these refers to a key in AWS; see ``execution.secrets``."""

_NO_KEY = "none was given"


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
    if not is_possible_key(own):
        raise _malformed(source, auth)
    if own.startswith(_REFERENCE_PREFIXES):
        own = secrets.get_secret(own, is_database=source.kind == "sql")
        if not own or not is_possible_key(own):
            raise _unreadable(source, auth)
    elif not own:
        stored = secrets.source_key(source.id, is_database=source.kind == "sql")
        if stored is None or not is_possible_key(stored):
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
        raise AuthRequired(credentials.conflict, SEND_KEY.filled(key="one key", header=header_for(source.id)))
    key = credentials.first()
    if key and not is_only_one:
        raise AuthRequired(
            "The key of the request does not name its source, and several sources here take callers' keys.",
            SEND_KEY.filled(key=f"the key of {source.title}", header=header_for(source.id)),
        )
    if key and not is_possible_key(key):
        raise AuthRequired(
            f"The key of the request cannot be a key of {source.title}.",
            SEND_KEY.filled(
                key="it",
                header=f"{header_for(source.id)}: printable ASCII characters, at most {MAX_KEY_CHARACTERS}",
            ),
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
    return own if is_possible_key(own) else ""


def _unreadable(source: Source, auth: Auth) -> AuthRequired:
    instead = f"; or send a key in {header_for(source.id)}" if auth.caller_key else ""
    return AuthRequired(
        f"The key that is set up here for {source.title} cannot be read at the moment.",
        READ_KEY.filled(instead=instead),
    )


def _malformed(source: Source, auth: Auth) -> AuthRequired:
    return AuthRequired(
        f"The key that is set up here for {source.title} cannot be sent.",
        CORRECT_KEY.filled(variable=auth.environment, most=MAX_KEY_CHARACTERS),
    )


def _not_for_all(source: Source, auth: Auth, unused: str, is_only_one: bool) -> AuthRequired:
    return AuthRequired(
        f"{source.title} needs an API key, and the one that is set up here is not for all callers.",
        SEND_OTHER_KEY.filled(header=_header_of_keys(source, unused, is_only_one)) if auth.caller_key else ALLOW_KEY,
    )


def _header_of_keys(source: Source, unused: str, is_only_one: bool) -> str:
    is_named = unused or not is_only_one
    return header_for(source.id) if is_named else "Authorization: Bearer or X-API-Key"


def _missing(source: Source, auth: Auth, unused: str, is_only_one: bool, no_key: str) -> AuthRequired:
    header = f", or to send it as {_header_of_keys(source, unused, is_only_one)}" if auth.caller_key else ""
    signup = f"; a key is at {auth.signup_url}" if auth.signup_url else ""

    if source.kind == "sql":
        return AuthRequired(
            f"{source.title} needs its connection string, which is not set.",
            SET_DATABASE.filled(variable=auth.environment),
        )
    return AuthRequired(
        f"{source.title} needs an API key, and {(unused if auth.caller_key else '') or no_key}.",
        SET_KEY.filled(variable=auth.environment, header=header, signup=signup),
    )
