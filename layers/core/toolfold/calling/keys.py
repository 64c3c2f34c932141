"""Where the API key of a call comes from. Keys live for one call and are never stored, logged or returned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolfold.errors import AuthRequired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolfold.catalog.model import Source


@dataclass(frozen=True, slots=True)
class Presented:
    """The keys a request carries, each empty when absent. ``repr`` hides them."""

    bearer: str = field(default="", repr=False)
    x_api_key: str = field(default="", repr=False)
    query: str = field(default="", repr=False)


NOTHING = Presented()


def find(source: Source, presented: Presented, environment: Mapping[str, str] | None = None) -> str:
    """The key for ``source``: ``Authorization: Bearer``, then ``X-API-Key``, then ``?apikey=`` (where the deployment
    allows it, the transport fills ``presented.query``), then the environment.

    Raises:
        AuthRequired: none of them holds a key.
    """
    read = os.environ if environment is None else environment
    variable = source.auth["environment"]
    for key in (presented.bearer, presented.x_api_key, presented.query, read.get(variable, "")):
        if key.strip():
            return key.strip()
    raise AuthRequired(
        f"{source.title} needs an API key, and none was given.",
        f"Ask the user to set {variable}, or to send it as Authorization: Bearer or X-API-Key; "
        f"a key is at {source.auth['obtain']}.",
    )
