"""Models of what the YAML of a source says, however its tools are described, and the types of their fields.

They refuse unknown keys, missing keys and contradictions. The request path does not import pydantic.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from toolfold.catalog import entries
from toolfold.catalog.query import OUTSIDE
from toolfold.catalog.text_checks import FORMATS, MAX_TEXT

SUMMARY_LIMIT = 120
"""Maximum characters of a summary, which is one line of a list that a model reads as a whole."""

JsonScalar = str | bool | int | float


def _one_sentence_line(text: str) -> str:
    if "\n" in text or text != text.strip():
        raise ValueError("must be one line without spaces around it")
    if text.endswith("."):
        raise ValueError("must not end with a full stop")
    return text


def _format(name: str) -> AfterValidator:
    def check(text: str) -> str:
        if problem := FORMATS[name](text):
            raise ValueError(problem)
        return text

    return AfterValidator(check)


# ``printable``, ``url`` and ``page`` are formats of ``catalog.contract``.
Url = Annotated[str, _format("url"), Field(max_length=2000, json_schema_extra={"format": "url"})]
"""An https URL, or an http URL of this machine."""
Page = Annotated[str, _format("page"), Field(max_length=2000, json_schema_extra={"format": "page"})]
"""The https URL of a page that a person reads."""
Key = Annotated[str, _format("printable"), Field(max_length=200, json_schema_extra={"format": "printable"})]
"""The name of something that is sent or received."""
LongKey = Annotated[str, _format("printable"), Field(max_length=2000, json_schema_extra={"format": "printable"})]
Keys = Annotated[list[Key], Field(max_length=200)]
Label = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True), _format("text")]
Paragraph = Annotated[str, StringConstraints(max_length=2000, strip_whitespace=True), _format("text")]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT, strip_whitespace=True), _format("text")]
Summary = Annotated[
    str,
    StringConstraints(min_length=1, max_length=SUMMARY_LIMIT),
    AfterValidator(_one_sentence_line),
    _format("text"),
]
Phrase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9%][a-z0-9 '&/%+.()-]*$", max_length=90)]
"""Words for the search index, which are not shown to a model."""
Phrases = Annotated[list[Phrase], Field(max_length=200)]
ToolName = Annotated[str, StringConstraints(pattern=entries.TOOL_NAME)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")]
"""The name of a header or a cookie: RFC 9110, section 5.6.2."""
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
IDENTIFIER = r"^[a-z][a-z0-9_]*$"
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]


class Model(BaseModel):
    """Base of all models: immutable, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


VOCABULARY = "vocabulary.yaml"
"""Optional file in the folder of a source, with a :class:`Vocabulary`."""


class Names(Model):
    """Proper names of one kind, and the categories and tools that they refer to."""

    categories: list[Identifier] = []
    tools: list[str] = []
    preferred: list[str] = []
    """Tools that are preferred for a query with nothing but such a name."""
    unknown: bool = False
    """Whether a capitalised word that nothing knows is most likely such a name."""
    outside: bool = False
    """Whether the tools do not serve what has such a name: data of one country has nothing on the others."""
    words: str
    """The names. One of several words is written with ``_`` between them: its words mean nothing of their own there."""

    def term(self, kind: str) -> str:
        """Return the term of the index for names of ``kind``, which is the kind of these."""
        return f"{OUTSIDE if self.outside else '@'}{kind}"


class Vocabulary(Model):
    """Additional meanings of words in a query."""

    names: dict[Identifier, Names] = {}
    synonyms: dict[str, dict[str, str]] = {}
    """Words of the catalog → language → synonyms, separated by commas."""
    ignored: str = ""
    """Words that a search ignores."""


FaultCode = Literal["AUTH_REJECTED", "INVALID_ARGUMENTS", "NO_DATA", "PREMIUM_ONLY", "RATE_LIMITED", "UPSTREAM_ERROR"]
"""Codes that a text of an upstream may mean. The others say something about toolfold or about the request."""

ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,199}$")]


def _confirmation(given: object) -> object:
    """Return the text for ``confirm: true``, and any other value as it is."""
    if given is False:
        raise ValueError("leave confirm out: a destructive tool always needs approval, others do not")
    return "Each call must be approved" if given is True else given


Confirmation = Annotated[Summary, BeforeValidator(_confirmation)]
"""What a person reads before each call, which then needs approval; ``true`` for a text without details. Calls of
destructive tools need approval in any case."""


class FoundBy(Model):
    """The tool that finds values of a parameter, and the parameter of that tool that takes a guess at one."""

    tool: ToolName
    parameter: ParameterName | None = None


class FreeInstead(Model):
    """The nearest tool for a key whose plan does not include a tool, and arguments that only this tool has."""

    tool: ToolName
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
    tool: ToolName


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


MAX_RELATIONS = 20
"""Relations of one tool."""


class Relation(Model):
    """How a tool is related to another."""

    to: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Name of the other tool: in the catalog, or the name that the same source has for it."""
    kind: entries.RelationKind
    """``needs_output_of``: the other is called first; ``alternative``: it may serve instead; ``then``: it is next;
    ``may_need_output_of``: it may have a value, as its name shows."""
    via: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .,/\[\]-]{0,79}$")] | None = None
    """What connects the two, for example the parameter that takes a value from the answer of the other."""


class OAuth2(Model):
    """The client credentials grant (RFC 6749, section 4.4). The key of the source is ``client_id:client_secret``."""

    token_url: Url
    """The token endpoint. Its host gets the secret, and must be allowed."""
    grant: Literal["client_credentials", "authorization_code"] = "client_credentials"
    """Whose token it is: that of the application, or of the user, who signs in at ``authorization_url``."""
    authorization_url: Url | None = None
    """Where users sign in, with ``authorization_code``; its host must be allowed, too."""
    revocation_url: Url | None = None
    """Where ``toolfold source sign-out`` revokes the user's tokens (RFC 7009); its host must be allowed, too."""
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
    """Variable with the key, or with a reference to a secret in AWS, instead of ``TOOLFOLD_SOURCE_<ID>_KEY``."""
    caller_key: bool = False
    """Whether the key in an MCP request is passed on to this source, and to no other."""
    signup_url: Annotated[Page, StringConstraints(pattern=r"^https://")] | None = None
    """Page on which a user can get a key."""

    @model_validator(mode="after")
    def _has_one_place(self) -> Auth:
        given = [place for place in entries.KEY_PLACES if getattr(self, place)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given; the key is sent in one place")
        if self.prefix and not self.header:
            raise ValueError("prefix is for header alone")
        if self.caller_key and self.oauth2 is not None and self.oauth2.grant == "authorization_code":
            raise ValueError("caller_key is for keys; with authorization_code the user signs in")
        return self


def _no_expression(text: str) -> str:
    if re.search(r"\\|^\^|\$$|\.[*+]", text):
        raise ValueError("is a phrase, in which * is any text, and no regular expression")
    return text


class Fault(Model):
    """A failure that the upstream reports in a successful response.

    ``match``, in which ``*`` is any text, is searched in the text under one of ``keys``, or, without keys, in the body.
    """

    id: Identifier
    keys: Keys = []
    match: Annotated[Key, AfterValidator(_no_expression)]
    code: FaultCode
    message: Prose
    suggestion: Prose
    retry_after_s: int | None = Field(default=None, ge=1)
