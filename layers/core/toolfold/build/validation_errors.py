"""Report the errors of pydantic as ``file:line: key: problem``.

What the rules of ``toolfold catalog lint`` report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from toolfold.build import yaml_loader
from toolfold.fuzzy import did_you_mean


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule. ``str()`` is ``file:line: rule: problem; advice``.

    A warning is about a tool whose texts may be generated, or are of others: it does not keep a catalog from being
    published.
    """

    file: str
    line: int
    rule: str
    problem: str
    advice: str
    is_warning: bool = False

    def __str__(self) -> str:
        warning = "warning: " if self.is_warning else ""
        return f"{self.file}:{self.line}: {warning}{self.rule}: {self.problem}; {self.advice}"


ModelT = TypeVar("ModelT", bound=BaseModel)

_UNION_MEMBERS = {"str", "bool", "int", "float", "list[str]"}
"""Names that pydantic appends to a location when a value matches no type of a union."""

_MADE_BY_PYDANTIC = {*_UNION_MEMBERS, "[key]"}

_MAX_SHOWN = 4
"""Keys that a message names as examples."""


def parse(model: type[ModelT], document: yaml_loader.Document, data: Any, problems: list[str]) -> ModelT | None:
    """Return ``data`` of ``document`` as a model, or None after adding to ``problems`` what is wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems += located(error, document, (), model)
        return None


def located(
    error: ValidationError,
    document: yaml_loader.Document,
    at: yaml_loader.Location,
    model: type[BaseModel] | None = None,
) -> list[str]:
    """Return each error once, as ``file:line: key: problem``."""
    found: dict[str, None] = {}
    for item in error.errors():
        inner = tuple(part for part in item["loc"] if part not in _MADE_BY_PYDANTIC)
        location = (*at, *inner)
        problem = _problem(item, inner, model)
        found[f"{document.where(location)}: {'.'.join(map(str, location)) or 'file'}: {problem}"] = None
    return list(found)


def _problem(item: Any, location: tuple[str | int, ...], model: type[BaseModel] | None) -> str:
    kind, given, context = item["type"], item["input"], item.get("ctx", {})
    if item["loc"][-1:] and item["loc"][-1] in _UNION_MEMBERS:
        return "Input should be a string, a number, true or false"
    if kind in ("model_type", "dict_type"):
        fields = ", ".join(keys_at(model, location)[:_MAX_SHOWN]) if model is not None and kind == "model_type" else ""
        return f"must be keys and values{f', such as {fields}' if fields else ''}"
    if kind == "extra_forbidden":
        hint = did_you_mean(str(location[-1]), keys_at(model, location[:-1])) if model is not None else ""
        return f"there is no such key. {hint}".rstrip(". ")
    if kind == "literal_error":
        allowed = re.findall(r"'([^']*)'", context["expected"])
        hint = did_you_mean(given, allowed) if isinstance(given, str) else ""
        return f"must be {context['expected']}, not {given!r}. {hint}".rstrip(". ")
    if kind == "too_long":
        return f"has {context['actual_length']} items; at most {context['max_length']} are allowed"
    return str(item["msg"]).removeprefix("Value error, ")


def keys_at(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the object at ``location`` of a ``model`` may have."""
    models = {model}
    for key in location:
        fields = [field for one in models for name, field in one.model_fields.items() if (field.alias or name) == key]
        # Indexes of lists and keys of objects are no fields: what they contain was found with the field around them.
        models = {inner for field in fields for inner in _models_in(field.annotation)} or models
    return sorted({field.alias or name for one in models for name, field in one.model_fields.items()})


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
