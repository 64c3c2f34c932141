"""A source, its credentials and the failures that it reports: the content of ``source.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from toolfold.build.schema.field_types import (
    BoundedPattern,
    HeaderName,
    Identifier,
    Model,
    Prose,
    Url,
    check_page,
    check_url,
)
from toolfold.build.schema.tools import ArgumentForms
from toolfold.catalog.head_checks import FAULT_CODES

MAX_PREFIX = 32
"""Characters of the id of a source that is part of the names of its tools: half of a name."""


class OAuth2(Model):
    """The client credentials grant (RFC 6749, section 4.4). The key of the source is ``client_id:client_secret``."""

    token_url: Url
    """The token endpoint. Its host gets the secret, and must be allowed as that of ``base_url`` must."""
    scopes: list[Annotated[str, StringConstraints(pattern=r"^[!#-\[\]-~]+$")]] = []
    audience: str | None = None
    """Parameter of the request for a token that some servers want."""
    resource: str | None = None
    """Parameter of RFC 8707."""
    client_authentication: Literal["basic", "body"] = "basic"
    """Whether id and secret are sent as ``Authorization: Basic`` or in the body."""


class Auth(Model):
    """The credentials of a source: what they are, and as what they are sent."""

    query_key: Annotated[str, StringConstraints(min_length=1)] | None = None
    """Parameter of the query string that contains the key."""
    header: HeaderName | None = None
    """Header that contains the key."""
    prefix: HeaderName | None = None
    """Word before the key in that header, for example ``Token``."""
    cookie: HeaderName | None = None
    """Cookie that contains the key."""
    bearer: bool = False
    """Whether the key is sent as ``Authorization: Bearer``."""
    basic: bool = False
    """Whether the key is ``user:password``, sent as ``Authorization: Basic``."""
    oauth2: OAuth2 | None = None
    environment: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Environment variable with the key, or with a reference to a secret in AWS; by default
    ``TOOLFOLD_SOURCE_<ID>_KEY``."""
    caller_key: bool = False
    """Whether the key in an MCP request is passed on to this source. It is not sent to other sources."""
    signup_url: Annotated[str, StringConstraints(pattern=r"^https://"), AfterValidator(check_page)] | None = None
    """Page on which a user can get a key."""

    @model_validator(mode="after")
    def _has_one_place(self) -> Auth:
        places = ("query_key", "header", "cookie", "bearer", "basic", "oauth2")
        given = [place for place in places if getattr(self, place)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given; the key is sent in one place")
        if self.prefix and not self.header:
            raise ValueError("prefix is for header alone")
        return self


class Fault(Model):
    """A failure that the upstream reports in a successful response.

    ``match`` is searched in the text under one of ``keys``, or, without keys, in the body.
    """

    id: Identifier
    keys: list[str] = []
    match: BoundedPattern
    code: str
    message: Prose
    suggestion: Prose
    retry_after_s: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _code_exists(self) -> Fault:
        if self.code not in FAULT_CODES:
            raise ValueError(f"code {self.code!r} is not one of {', '.join(sorted(FAULT_CODES))}")
        return self


class SourceSettings(Model):
    """What the ``source.yaml`` of every kind of source has."""

    id: Identifier
    title: str
    description: str
    kind: Identifier = "http_api"
    """Kind of the source: the name of its adapter in ``sources.registry``."""
    auth: Auth | None = None
    """None for a source that does not need a key."""
    no_data: Prose
    """Suggestion for the next step after a response without rows."""
    prefix: bool = False
    """Whether tools are called ``<id>__<name>``. Two sources with tools of the same name need it."""
    timeout_s: float | None = Field(default=None, gt=0, le=900)
    """Seconds for one call, where the time-out of the settings is too long."""
    max_response_bytes: int | None = Field(default=None, ge=1)
    """Size of a response, where the limit of the settings is too large."""
    identifiers: list[str] = []
    """Columns that say what a row of an answer is about: ``select`` leaves them with their rows, and their digits are
    text."""

    @model_validator(mode="after")
    def _can_be_prefix(self) -> SourceSettings:
        if self.prefix and len(self.id) > MAX_PREFIX:
            raise ValueError(f"id has {len(self.id)} characters, and {MAX_PREFIX} are the most in names of tools")
        return self


class Source(SourceSettings):
    """An API whose tools are written by hand: the content of ``source.yaml``."""

    title: Prose
    description: Prose
    base_url: Annotated[str, StringConstraints(pattern=r"^https://"), AfterValidator(check_url)]
    function_key: str
    format_parameter: str = ""
    """Name of the parameter that selects JSON or CSV, if the source has one. A call that gives it gets the response in
    the upstream's own form."""
    freshness: dict[str, Annotated[int, Field(ge=1)]]
    """Freshness class → seconds for which a response is fresh."""
    categories: list[Identifier] = Field(min_length=1)
    """Names of the category files, in the order of the listing."""
    parameters: dict[str, dict[str, Any]] = {}
    """Shared parameters: key → fields of a :class:`Parameter`. ``name`` defaults to the key."""
    arguments: ArgumentForms | None = None
    """How callers may write arguments otherwise."""
    faults: list[Fault] = []
    """Tried in this order; the first match is used."""
    unknown_notice: list[str] = []
    """Keys with a notice of the upstream instead of data, even when no fault matches."""
