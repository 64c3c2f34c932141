"""A source, its credentials and failures, and its tools, however they are described."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from toolfold.build.relations import Relation
from toolfold.build.schema.field_types import (
    TOOL_NAME,
    BoundedPattern,
    HeaderName,
    Identifier,
    Key,
    Keys,
    LongKey,
    Model,
    Page,
    Phrase,
    Phrases,
    Prose,
    Summary,
    Tag,
    Url,
)
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.entries import Effect

FaultCode = Literal["AUTH_REJECTED", "INVALID_ARGUMENTS", "NO_DATA", "PREMIUM_ONLY", "RATE_LIMITED", "UPSTREAM_ERROR"]
"""Codes that a text of an upstream may mean. The others say something about toolfold or about the request."""

ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,199}$")]


def _confirmation(given: object) -> object:
    """Return the text for ``confirm: true``, and any other value as it is."""
    if given is False:
        raise ValueError("leave confirm out: a destructive tool always needs approval, others do not")
    return "Each call must be approved" if given is True else given


Access = Literal["free", "premium", "mixed"]
Format = Literal["csv", "json"]
Confirmation = Annotated[Summary, BeforeValidator(_confirmation)]
"""What a person reads before each call, which then needs approval; ``true`` for a text without details. Calls of
destructive tools need approval in any case."""


class FoundBy(Model):
    """The tool that finds values of a parameter, and the parameter of that tool that takes a guess at one."""

    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    parameter: ParameterName | None = None


class FreeInstead(Model):
    """The nearest tool for a key whose plan does not include a tool, and arguments that only this tool has."""

    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    arguments: dict[str, Any] = {}


class Tickers(Model):
    """How the source writes tickers, and what other services write instead."""

    parameters: Keys = []
    """Parameters that hold tickers, in every tool."""
    prefixes: Annotated[dict[Key, Key], Field(max_length=200)] = {}
    """Venue before a colon (``LSE:TSCO``) → the suffix of the source; empty: no suffix."""
    suffixes: Annotated[dict[Key, Key], Field(max_length=200)] = {}
    """Venue after a full stop at other services (``TSCO.L``) → the suffix of the source; empty: no suffix."""


class ArgumentForms(Model):
    """How callers write arguments otherwise than the schemas say. No model sees it, and no search."""

    names: dict[str, Phrases] = {}
    """Parameter → other names for it. ``range[0]`` and ``range[1]`` are the ends of a list of two."""
    values: dict[str, Key | dict[str, Phrases]] = {}
    """Parameter → allowed value → other words for it; or the parameter that has the same values."""
    pairs: list[Annotated[list[Key], Field(min_length=2, max_length=2)]] = []
    """Two parameters that one argument such as ``EUR/USD`` may fill."""
    pair_names: Phrases = []
    """Names of such an argument."""
    tickers: Tickers | None = None


class UseInstead(Model):
    """A request that another tool serves, and the name of that tool."""

    phrase: Phrase
    tool: Annotated[str, StringConstraints(pattern=TOOL_NAME)]


class JsonShape(Model):
    """Location of the rows in a JSON response.

    ``rows`` is a dotted path; ``|`` separates several lists with the same columns.
    """

    keys: list[str] = []
    rows: str = ""
    kind: Literal["object", "list", "map", "names"]
    columns: list[str] = []


class Returns(Model):
    """Format of the response: CSV columns and JSON shape. ``outline`` replaces the outline generated from them."""

    csv: str | None = None
    json_: JsonShape | None = Field(default=None, alias="json")
    outline: Prose | None = None
    rows: list[str] = []
    """Paths of the rows in JSON, for a tool without ``json``."""
    typed: bool = False
    """Whether values in JSON have their types already: a text remains a text, also when it spells a number."""


class Tool(Model):
    """One tool of any source."""

    name: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    function: str
    """The name that the source has for it."""
    title: Prose
    summary: Summary
    description: Prose
    tags: list[Tag] = Field(min_length=1, max_length=6)
    example_queries: list[Phrase] = []
    """Requests of users who need the tool, in their words."""
    aliases: list[Phrase] = []
    """Other names of the data that the tool returns."""
    use_instead: list[UseInstead] = []
    """Similar requests that another tool serves."""
    access: Access = "free"
    effect: Effect
    """What a call changes at the source: nothing, data that can be restored, or data that cannot."""
    confirm: Confirmation | None = None
    common: bool = False
    """Whether the instructions for clients name the tool, so that a model that knows it calls it at once."""
    expose: bool = True
    """Whether the tool may be called. One that may not is in no listing; TOOL_GET describes it."""
    freshness: str
    formats: list[Format] = Field(default=["json"], min_length=1)
    parameters: dict[str, Any]
    """The JSON Schema (2020-12) of the arguments."""
    returns: Returns
    relations: list[Relation] = Field(default=[], max_length=20)
    """Tools that are called before this one, instead of it, or after it."""
    hints: dict[str, Any] = {}
    """What answers lack, and what to call instead of a call that failed."""
    example: dict[str, Any]
    """Arguments of a valid call. The tests send it to the mock API."""
    is_example_generated: bool = False
    """Whether ``example`` was made from the schema. It is then left out where it does not fit."""
    binding: dict[str, Any]
    """Input of the adapter."""


class Category(Model):
    """A group of tools."""

    category: Identifier
    title: Prose
    description: Prose
    tools: list[Tool] = Field(min_length=1)


MAX_PREFIX = 32
"""Characters of the id of a source that is part of the names of its tools: half of a name."""


class OAuth2(Model):
    """The client credentials grant (RFC 6749, section 4.4). The key of the source is ``client_id:client_secret``."""

    token_url: Url
    """The token endpoint. Its host gets the secret, and must be allowed as that of ``base_url`` must."""
    grant: Literal["client_credentials", "authorization_code"] = "client_credentials"
    """Whose token it is: that of the application, or of the user, who signs in at ``authorization_url``."""
    authorization_url: Url | None = None
    """Where users sign in, with ``authorization_code``. Its host must be allowed as well."""
    revocation_url: Url | None = None
    """Where ``toolfold source sign-out`` revokes the user's tokens (RFC 7009). Its host must be allowed as well."""
    redirect_port: int = Field(default=0, ge=0, le=65535)
    """Port of ``http://127.0.0.1:PORT/callback``, for a server that accepts no other; 0: any free one (RFC 8252)."""
    scopes: list[Annotated[str, StringConstraints(pattern=r"^[!#-\[\]-~]+$", max_length=200)]] = []
    audience: LongKey | None = None
    """Parameter of the request for a token that some servers want."""
    resource: LongKey | None = None
    """Parameter of RFC 8707."""
    client_authentication: Literal["basic", "body"] = "basic"
    """Whether id and secret are sent as ``Authorization: Basic`` or in the body."""

    @model_validator(mode="after")
    def _fits_the_grant(self) -> OAuth2:
        is_of_user = self.grant == "authorization_code"
        if is_of_user != (self.authorization_url is not None):
            raise ValueError("authorization_url is for grant: authorization_code, which needs it")
        if not is_of_user and (self.revocation_url or self.redirect_port):
            raise ValueError("revocation_url and redirect_port are for grant: authorization_code")
        return self


class Auth(Model):
    """The credentials of a source: what they are, and as what they are sent."""

    query_key: Annotated[Key, Field(min_length=1)] | None = None
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
    signup_url: Annotated[Page, StringConstraints(pattern=r"^https://")] | None = None
    """Page on which a user can get a key."""

    def entry(self, source_id: str) -> dict[str, Any]:
        """Return the credentials in the catalog, with the variable that they have where none is named."""
        entry = self.model_dump(exclude_defaults=True)
        entry.setdefault("environment", own_variable(source_id))
        return entry

    @model_validator(mode="after")
    def _has_one_place(self) -> Auth:
        places = ("query_key", "header", "cookie", "bearer", "basic", "oauth2")
        given = [place for place in places if getattr(self, place)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given; the key is sent in one place")
        if self.prefix and not self.header:
            raise ValueError("prefix is for header alone")
        if self.caller_key and self.oauth2 is not None and self.oauth2.grant == "authorization_code":
            raise ValueError("caller_key is for keys; with authorization_code the user signs in")
        return self


class Fault(Model):
    """A failure that the upstream reports in a successful response.

    ``match`` is searched in the text under one of ``keys``, or, without keys, in the body.
    """

    id: Identifier
    keys: Keys = []
    match: BoundedPattern
    code: FaultCode
    message: Prose
    suggestion: Prose
    retry_after_s: int | None = Field(default=None, ge=1)


class SourceSettings(Model):
    """What the ``source.yaml`` of every kind of source has."""

    id: Identifier
    title: str
    description: str
    kind: Identifier = "http_api"
    """Kind of the source: the name of its adapter in ``sources.base``."""
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
