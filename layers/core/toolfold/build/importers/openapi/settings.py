"""The model of ``source.yaml`` of an OpenAPI service."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from toolfold.build.importers.base import ImporterSettings
from toolfold.build.importers.openapi.filters import Selection
from toolfold.catalog.head_checks import host_of
from toolfold.sources.http_api.binding_checks import check_header

__all__ = ["OpenApiSettings"]


def _url(url: str) -> str:
    if not host_of(url):
        raise ValueError("must be an https URL without user name and fragment, or an http URL of this machine")
    return url


def _file_name(name: str) -> str:
    if name in ("source.yaml", "overlay.yaml") or "\\" in name or name.startswith("."):
        raise ValueError("must be the name of another file in the folder of the source")
    return name


Url = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_url)]


class OpenApiSettings(ImporterSettings):
    """An OpenAPI service: the content of ``source.yaml``."""

    document: Annotated[
        str, StringConstraints(pattern=r"^[^/]{1,100}\.(json|yaml|yml)$"), AfterValidator(_file_name)
    ] = "openapi.json"
    """Name of the document in the folder of the source."""
    url: Url | None = None
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
