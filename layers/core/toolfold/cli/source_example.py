"""Make the first tool of an HTTP API from a request that works, written as a URL."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from toolfold.build.typed_secrets import SECRET_NAME
from toolfold.catalog.head_checks import host_of
from toolfold.cli.questions import Questions
from toolfold.cli.source_urls import request_problem
from toolfold.cli.source_writer import Draft

__all__ = ["draft_http", "tool_of"]

_VALUE = re.compile(r"\d+|[0-9a-f]{8,}|[0-9a-fA-F-]{36}")
"""A part of a path that is a value: a number, or an id in hexadecimal digits."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_COUNTS = re.compile(r"(per_)?page|limit|offset|count|size|days|hours|months?|years?|n|top|first|last|.*_id|id")
"""Names of parameters whose numbers are whole."""

_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
_NOT_IN_ARGUMENT = re.compile(r"[^A-Za-z0-9_.\[\]-]+")


def draft_http(
    options: argparse.Namespace,
    questions: Questions,
    settings: Callable[[argparse.Namespace, str, Mapping[str, Any]], dict[str, Any]],
    key_variables: Sequence[tuple[str, str]],
) -> Draft:
    """Return the draft of an HTTP API.

    Args:
        options: those of the command.
        questions: gets the request from the person.
        settings: returns the content of source.yaml with the keys of this kind.
        key_variables: the variables with the key.
    """
    request = questions.text(
        options.request,
        "A request that works, as a URL with its parameters",
        "URL",
        check=request_problem,
    )
    parts = urlsplit(request)
    base_url = f"{parts.scheme}://{parts.netloc}"
    dropped = [name for name, _ in parse_qsl(parts.query) if SECRET_NAME.fullmatch(name)]
    tool = tool_of(request, options.tool)
    tool["description"] = questions.text(
        None,
        "What does it return, in a sentence or two",
        "description",
        default=f"{tool['name'].replace('_', ' ').capitalize()} of {options.title or options.id}.",
    )
    variables = [("TOOLFOLD_ALLOWED_HOSTS", host_of(base_url)), *key_variables]
    if dropped and not key_variables:
        options.query_key = dropped[0]
        from toolfold.catalog.allow_list import own_variable

        variables.append((own_variable(options.id), "YOUR_KEY"))
    whole = settings(options, "http_api", {"base_url": base_url, "tools": [tool]})
    return Draft(options.id, "http_api", whole, variables=variables)


def tool_of(request: str, name: str | None = None) -> dict[str, Any]:
    """Return the tool that sends ``request``: its path with placeholders, and its parameters with examples.

    Example:
        >>> tool_of("https://api.example.com/v1/towns/4711/rain?days=3")["path"]
        '/v1/towns/{town_id}/rain'
    """
    parts = urlsplit(request)
    path, parameters = _path(parts.path)
    example = {key: rule["example"] for key, rule in parameters.items()}
    for sent_as, value in parse_qsl(parts.query, keep_blank_values=True):
        if SECRET_NAME.fullmatch(sent_as):
            continue
        key = _argument(sent_as)
        if key in parameters and isinstance(example[key], list):
            example[key].append(_typed(value))
            continue
        if key in parameters:
            example[key] = [example[key], _typed(value)]
            parameters[key] = {"type": "array", "items": {"type": _type(key, value)}, "description": _words(key)}
        else:
            example[key] = _typed(value)
            parameters[key] = {"type": _type(key, value), "description": _words(key), "example": _typed(value)}
        if sent_as != key:
            parameters[key]["sent_as"] = sent_as
    tool: dict[str, Any] = {"name": name or _name(path), "path": path or "/", "description": ""}
    return {**tool, **({"parameters": parameters, "example": example} if parameters else {})}


def _path(path: str) -> tuple[str, dict[str, Any]]:
    """Return a path in which values are placeholders, and their parameters."""
    segments: list[str] = []
    parameters: dict[str, Any] = {}
    for segment in path.split("/"):
        text = unquote(segment)
        if not _VALUE.fullmatch(text) or re.fullmatch(r"v?\d{1,2}", text):
            segments.append(segment.replace("{", "%7B").replace("}", "%7D"))
            continue
        before = _NOT_IN_NAME.sub("_", unquote(segments[-1]).lower()).strip("_") if segments and segments[-1] else ""
        name = f"{before.removesuffix('s')}_id" if before and "{" not in segments[-1] else f"id_{len(parameters) + 1}"
        parameters[name] = {"type": "string", "required": True, "description": _words(name), "example": text}
        segments.append(f"{{{name}}}")
    return "/".join(segments), parameters


def _name(path: str) -> str:
    """Return a name for the tool: the last word of the path."""
    words = [_NOT_IN_NAME.sub("_", part.lower()).strip("_") for part in path.split("/") if part and "{" not in part]
    named = [word for word in words if word and not re.fullmatch(r"v?\d{1,2}|api", word)]
    return f"get_{named[-1]}"[:40] if named else "get"


def _argument(name: str) -> str:
    """Return the name of the argument for a parameter of the query: ``$top`` is ``top``."""
    word = _NOT_IN_ARGUMENT.sub("_", name).lstrip("_.[]-")[:60] or "value"
    return f"_{word}" if word[0].isdigit() else word


def _typed(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    return (float(value) if "." in value else int(value)) if _is_number(value) else value


def _type(name: str, value: str) -> str:
    """Return the type of a parameter by its example: only some names have whole numbers."""
    if value in ("true", "false"):
        return "boolean"
    if not _is_number(value):
        return "string"
    return "integer" if "." not in value and _COUNTS.fullmatch(name.lower()) else "number"


def _is_number(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value)) and (value == "0" or not value.lstrip("-").startswith("0") or "." in value)


def _words(name: str) -> str:
    return f"{name.replace('_', ' ').replace('-', ' ').strip().capitalize()}."
