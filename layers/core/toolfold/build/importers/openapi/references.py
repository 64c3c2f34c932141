"""Resolve references within one document.

References to other files and to web addresses are refused: what a document may make this process read is the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from toolfold.build.importers.openapi.document import DocumentError
from toolfold.build.yaml_loader import Location

_MAX_CHAIN = 50
"""References that may lead to each other. A chain that is longer is a circle."""


class References:
    """The references of one document. Some documents name their own file in them."""

    def __init__(self, data: Mapping[str, Any], file_name: str = "") -> None:
        self._data = data
        self._own_names = {"", file_name, f"./{file_name}"}
        self._anchors: dict[str, Location] | None = None

    def locate(self, reference: Any, at: Location) -> tuple[Location, Any]:
        """Return the location and the value that ``reference``, which is at ``at``, points to.

        Raises:
            DocumentError: It is not a reference within the document, or points to nothing.
        """
        if not isinstance(reference, str):
            raise DocumentError(at, "$ref is not text")
        shown = repr(reference[:120])
        file, _, fragment = reference.partition("#")
        if file not in self._own_names:
            raise DocumentError(at, f"$ref {shown} refers to another document; bundle the documents into one")
        is_anchor = fragment != "" and not fragment.startswith("/")
        found = self._find_anchor(fragment) if is_anchor else self._find(fragment)
        if found is None:
            raise DocumentError(at, f"$ref {shown} points to nothing in the document")
        return found

    def follow(self, value: Any, at: Location) -> tuple[Location, Any]:
        """Return the location and the value behind ``value``, which may be a reference object.

        Raises:
            DocumentError: A reference is broken, or refers to itself.
        """
        start = at
        for _ in range(_MAX_CHAIN):
            if not isinstance(value, dict) or not isinstance(value.get("$ref"), str):
                return at, value
            at, value = self.locate(value["$ref"], (*at, "$ref"))
        raise DocumentError(start, "$ref refers to itself without an end")

    def _find(self, fragment: str) -> tuple[Location, Any] | None:
        value: Any = self._data
        at: list[str | int] = []
        for token in fragment.split("/")[1:]:
            key = unquote(token).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
                at.append(key)
            elif isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value):
                value = value[int(key)]
                at.append(int(key))
            else:
                return None
        return tuple(at), value

    def _find_anchor(self, name: str) -> tuple[Location, Any] | None:
        if self._anchors is None:
            self._anchors = {}
            components = self._data.get("components")
            schemas = components.get("schemas") if isinstance(components, dict) else None
            self._collect_anchors(schemas, ("components", "schemas"))
        at = self._anchors.get(name)
        return None if at is None else (at, self._value(at))

    def _collect_anchors(self, root: Any, root_at: Location) -> None:
        assert self._anchors is not None  # noqa: S101 - for mypy
        open_ = [(root, root_at)]
        while open_:
            value, at = open_.pop()
            if isinstance(value, dict):
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(value.get(key), str):
                        self._anchors.setdefault(value[key], at)
                open_ += [(inner, (*at, key)) for key, inner in value.items()]
            elif isinstance(value, list):
                open_ += [(inner, (*at, index)) for index, inner in enumerate(value)]

    def _value(self, at: Location) -> Any:
        value: Any = self._data
        for key in at:
            value = value[key]
        return value
