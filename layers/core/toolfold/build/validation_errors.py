"""Report the errors of pydantic as ``file:line: key: problem``."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolfold.build import yaml_loader

__all__ = ["located", "parse"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_UNION_MEMBERS = {"str", "bool", "int", "float", "list[str]"}
"""Names that pydantic appends to a location when a value matches no type of a union."""


def parse(model: type[ModelT], document: yaml_loader.Document, data: Any, problems: list[str]) -> ModelT | None:
    """Return ``data`` of ``document`` as a model, or None after adding to ``problems`` what is wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems += located(error, document, ())
        return None


def located(error: ValidationError, document: yaml_loader.Document, at: yaml_loader.Location) -> list[str]:
    """Return each error once, as ``file:line: key: problem``."""
    found: dict[str, None] = {}
    for item in error.errors():
        location, message = (*at, *item["loc"]), item["msg"].removeprefix("Value error, ")
        if location[-1:] and location[-1] in _UNION_MEMBERS:
            location, message = location[:-1], "Input should be a string, a number, true or false"
        found[f"{document.where(location)}: {'.'.join(map(str, location)) or 'file'}: {message}"] = None
    return list(found)
