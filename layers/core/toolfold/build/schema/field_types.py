"""Types of the fields of models: texts, names, URLs and patterns, each with its check.

Further meanings of words in a query: the content of ``vocabulary.yaml``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from toolfold.catalog.query import OUTSIDE
from toolfold.catalog.text_checks import MAX_TEXT, host_of, text_problem
from toolfold.sources.http_api.faults import pattern_steps

TOOL_NAME = r"^[A-Za-z0-9._-]{1,64}$"
"""Names that MCP allows. They are looked up without regard to case, so two names must differ in more than case."""

SUMMARY_LIMIT = 120
"""Maximum characters of a summary, which is one line of a list that a model reads as a whole."""

JsonScalar = str | bool | int | float


def _one_sentence_line(text: str) -> str:
    if "\n" in text or text != text.strip():
        raise ValueError("must be one line without spaces around it")
    if text.endswith("."):
        raise ValueError("must not end with a full stop")
    return text


def _bounded_regex(pattern: str) -> str:
    pattern_steps(pattern)
    return pattern


def check_url(url: str) -> str:
    """Check an https URL, or an http URL of this machine."""
    if not host_of(url):
        raise ValueError("must be an https URL without user name and fragment; http is for this machine alone")
    return url


def check_page(url: str) -> str:
    """Check the URL of a page that a person reads, which may have a fragment."""
    check_url(url.partition("#")[0])
    return _visible(url)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has a character that cannot be printed")
    return text


def _visible(text: str) -> str:
    """Check a text that a model or a person reads."""
    if problem := text_problem(text):
        raise ValueError(problem)
    return text


# ``printable``, ``url`` and ``page`` are formats of ``catalog.contract``.
Url = Annotated[str, AfterValidator(check_url), Field(max_length=2000, json_schema_extra={"format": "url"})]
"""An https URL, or an http URL of this machine."""
Page = Annotated[str, AfterValidator(check_page), Field(max_length=2000, json_schema_extra={"format": "page"})]
"""The https URL of a page that a person reads."""
Key = Annotated[str, AfterValidator(_printable), Field(max_length=200, json_schema_extra={"format": "printable"})]
"""The name of something that is sent or received."""
LongKey = Annotated[str, AfterValidator(_printable), Field(max_length=2000, json_schema_extra={"format": "printable"})]
Keys = Annotated[list[Key], Field(max_length=200)]
Prose = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_TEXT, strip_whitespace=True), AfterValidator(_visible)
]
Summary = Annotated[
    str,
    StringConstraints(min_length=10, max_length=SUMMARY_LIMIT),
    AfterValidator(_one_sentence_line),
    AfterValidator(_visible),
]
Phrase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9%][a-z0-9 '&/%+.()-]*$", max_length=90)]
"""Words for the search index, which are not shown to a model."""
Phrases = Annotated[list[Phrase], Field(max_length=200)]
BoundedPattern = Annotated[str, AfterValidator(_bounded_regex)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")]
"""The name of a header or a cookie: RFC 9110, section 5.6.2."""
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


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
