"""Find the API key of a call. A key is used for one call, and is never stored, logged or returned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolfold.errors import AuthRequired

if TYPE_CHECKING:
    from toolfold.catalog.model import Auth, Source
    from toolfold.execution.secrets import SecretProvider


@dataclass(frozen=True)
class RequestCredentials:
    """The keys that an MCP request carries, each empty when absent. ``repr`` hides them.

    Attributes:
        bearer: the token of ``Authorization: Bearer``.
        x_api_key: the header ``X-API-Key``.
        query: ``?apikey=`` of the address, where the deployment allows that.
    """

    bearer: str = field(default="", repr=False)
    x_api_key: str = field(default="", repr=False)
    query: str = field(default="", repr=False)

    def first(self) -> str:
        """Return the first key that is present, in the order of the attributes, or an empty string."""
        keys = (key.strip() for key in (self.bearer, self.x_api_key, self.query))
        return next((key for key in keys if key), "")


NO_CREDENTIALS = RequestCredentials()

_REFERENCE_PREFIXES = ("arn:", "ssm:")
"""An environment variable that starts with one of these refers to a key in AWS; see ``execution.secrets``."""


def resolve_api_key(
    source: Source,
    credentials: RequestCredentials,
    secrets: SecretProvider,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return the API key that is sent to ``source``: the caller's where the source takes it, else the deployment's.

    Args:
        source: the source that is called. One without ``auth`` gets no key; only one with ``auth.caller_key`` gets a
            key that came with the request.
        credentials: the keys that came with the request.
        secrets: reads keys from AWS.
        environment: environment variables (default: the process's).

    Returns:
        The key; empty for a source that needs none.

    Raises:
        AuthRequired: the source needs a key and has no key, or AWS does not return it.
    """
    auth = source.auth
    if auth is None:
        return ""
    if auth.caller_key and (callers := credentials.first()):
        return callers
    variables = os.environ if environment is None else environment
    own = variables.get(auth.environment, "").strip()
    if own.startswith(_REFERENCE_PREFIXES):
        own = secrets.get_secret(own)
        if not own:
            raise _unreadable(source, auth)
    if not own:
        raise _missing(source, auth)
    return own


def _unreadable(source: Source, auth: Auth) -> AuthRequired:
    instead = "; or send a key as Authorization: Bearer or X-API-Key" if auth.caller_key else ""
    return AuthRequired(
        f"The key that is set up here for {source.title} cannot be read at the moment.",
        f"Tell the operator, whose log says why{instead}.",
    )


def _missing(source: Source, auth: Auth) -> AuthRequired:
    header = ", or to send it as Authorization: Bearer or X-API-Key" if auth.caller_key else ""
    signup = f"; a key is at {auth.signup_url}" if auth.signup_url else ""
    return AuthRequired(
        f"{source.title} needs an API key, and none was given.",
        f"Ask the user to set {auth.environment}{header}{signup}.",
    )
