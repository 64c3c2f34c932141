"""Where the API key of a call comes from. Keys live for one call and are never stored, logged or returned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolfold.errors import AuthRequired

if TYPE_CHECKING:
    from toolfold.catalog.model import Source
    from toolfold.execution.secrets import SecretProvider


@dataclass(frozen=True)
class RequestCredentials:
    """The keys a request carries, each empty when absent. ``repr`` hides them."""

    bearer: str = field(default="", repr=False)
    x_api_key: str = field(default="", repr=False)
    query: str = field(default="", repr=False)


NO_CREDENTIALS = RequestCredentials()

REFERENCES = ("arn:", "ssm:")
"""What the environment's value starts with when it is not a key but tells where one is."""


def resolve_api_key(
    source: Source,
    credentials: RequestCredentials,
    secrets: SecretProvider,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The key for ``source``: ``Authorization: Bearer``, then ``X-API-Key``, then ``?apikey=`` (where the deployment
    allows it, the transport fills ``credentials.query``), then the environment. There it is the key itself, or says
    where in AWS it is kept; see ``execution.secrets``.

    Raises:
        AuthRequired: none of them holds a key, or AWS does not give it away.
    """
    read = os.environ if environment is None else environment
    variable = source.auth["environment"]
    for key in (credentials.bearer, credentials.x_api_key, credentials.query):
        if key.strip():
            return key.strip()
    own = read.get(variable, "").strip()
    if own.startswith(REFERENCES):
        own = secrets.get_secret(own)
        if not own:
            raise AuthRequired(
                f"The key that is set up here for {source.title} cannot be read at the moment.",
                "Tell the operator, whose log says why; or send a key as Authorization: Bearer or X-API-Key.",
            )
    if own:
        return own
    raise AuthRequired(
        f"{source.title} needs an API key, and none was given.",
        f"Ask the user to set {variable}, or to send it as Authorization: Bearer or X-API-Key; "
        f"a key is at {source.auth['signup_url']}.",
    )
