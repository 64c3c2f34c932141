"""The model of ``source.yaml`` of an OpenAPI service.

Choose operations by tag, path and operation: ``include`` and ``exclude`` of ``source.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from toolfold.build.importers.base import ImporterSettings
from toolfold.build.schema.field_types import Model, Url
from toolfold.fuzzy import did_you_mean
from toolfold.sources.http_api.binding_checks import check_header

_MAX_ENTRIES = 500


_WORDS = {"tags": "tag", "paths": "path", "operations": "operation"}
"""Key of a selection → what its entries name."""

Candidate = Mapping[str, tuple[str, ...]]
"""What an operation has for each key of a selection; its names are the operationId and ``METHOD /path``."""


class Selection(Model):
    """Operations. An operation belongs to it when one entry of one of the lists matches; ``*`` matches any text."""

    tags: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    paths: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """As in the document: ``/repos/{owner}/*``."""
    operations: list[str] = Field(default=[], max_length=_MAX_ENTRIES)
    """An operationId, or ``GET /path``."""

    def __bool__(self) -> bool:
        return bool(self.tags or self.paths or self.operations)

    def matches(self, candidate: Candidate) -> bool:
        """Return whether the operation belongs to the selection."""
        return any(_matches(candidate[key], entry) for key in _WORDS for entry in getattr(self, key))

    def unused_entries(self, candidates: Sequence[Candidate]) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield the location and a sentence for each entry that matches no operation of the document."""
        for key, word in _WORDS.items():
            known = [value for candidate in candidates for value in candidate[key]]
            for number, entry in enumerate(getattr(self, key)):
                if not _matches(known, entry):
                    hint = did_you_mean(entry, sorted(set(known)) if key == "tags" else known, shown=repr)
                    yield (key, number), f"no operation has the {word} {entry[:100]!r}. {hint}".rstrip(". ")


def _matches(values: Sequence[str], entry: str) -> bool:
    # Brackets are no character classes here: paths have placeholders, tags may have anything.
    pattern = entry.replace("[", "[[]").replace("?", "[?]")
    return any(value == entry or ("*" in entry and fnmatchcase(value, pattern)) for value in values)


def _file_name(name: str) -> str:
    if name in ("source.yaml", "overlay.yaml") or "\\" in name or name.startswith("."):
        raise ValueError("must be the name of another file in the folder of the source")
    return name


class OpenApiSettings(ImporterSettings):
    """An OpenAPI service: the content of ``source.yaml``."""

    document: Annotated[
        str, StringConstraints(pattern=r"^[^/]{1,100}\.(json|yaml|yml)$"), AfterValidator(_file_name)
    ] = "openapi.json"
    """Name of the document in the folder of the source."""
    url: Annotated[Url, StringConstraints(max_length=2000)] | None = None
    """Where the service publishes the document; ``toolfold source refresh`` fetches it."""
    base_url: Url | None = None
    """Where calls are sent, in place of the servers of the document."""
    server_variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables in the URL of the server."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=20)
    """Headers that every request has, such as the version of the API. Credentials belong to ``auth``."""
    include: Selection = Selection()
    """Operations that become tools; all without it."""
    exclude: Selection = Selection()
    """Operations that do not become tools, also among those that are included."""

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            check_header(name, value)
        return headers

    @model_validator(mode="before")
    @classmethod
    def _name_document(cls, data: Any) -> Any:
        """Name the document as its URL ends, where it has no name."""
        if isinstance(data, dict) and "document" not in data and str(data.get("url")).endswith((".yaml", ".yml")):
            return {**data, "document": "openapi.yaml"}
        return data
