"""Texts with fields, worded where they leave: for a model that acts for a user, or for a person at a terminal.

An error holds such texts, not sentences. What names a meta-tool, an argument of one or a call is a field as well, so
that no sentence is ever parsed to say the same to the other reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

ProposedCall = tuple[str, Mapping[str, Any]]
"""The name of a tool, and its arguments."""


class Text:
    """A text with fields. Immutable; ``str()`` words it for a model.

    Args:
        for_model: a template of ``str.format``.
        for_person: the same for a person; empty: one template for both.
        fields: values of fields; those that are missing are terms of the reader. A value may be a text itself.

    Example:
        >>> text = Text("Ask the user to set {variable}.", "Set {variable}.")
        >>> str(text.filled(variable="API_KEY"))
        'Ask the user to set API_KEY.'
    """

    for_model: str
    for_person: str
    fields: Mapping[str, Any]

    def __init__(self, for_model: str, for_person: str = "", fields: Mapping[str, Any] | None = None) -> None:
        vars(self).update(for_model=for_model, for_person=for_person, fields=fields or {})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.for_model, self.for_person))

    def __str__(self) -> str:
        return self.worded(MODEL)

    def filled(self, **fields: Any) -> Text:
        """Return this text with further fields."""
        return Text(self.for_model, self.for_person, {**self.fields, **fields})

    def worded(self, reader: Reader) -> str:
        """Return this text for a reader."""
        template = self.for_person if reader.is_person and self.for_person else self.for_model
        return template.format_map(_Fields(self.fields, reader))


class CallText(Text):
    """A call of a meta-tool, as the reader writes it. ``fields`` are its arguments, such as ``tool_name``."""

    tool: str

    def __init__(self, arguments: Mapping[str, Any], tool: str = "TOOL_CALL") -> None:
        super().__init__("", fields=arguments)
        vars(self)["tool"] = tool

    def worded(self, reader: Reader) -> str:
        """Return the call for a reader."""
        return reader.call_text(self.tool, self.fields)


def joined(*texts: str | Text) -> Text:
    """Return several texts as one, with spaces between them; empty ones are left out."""
    parts = {f"part_{index}": text for index, text in enumerate(texts) if text}
    return Text(" ".join(f"{{{name}}}" for name in parts), fields=parts)


def names_call(text: str | Text) -> bool:
    """Return whether a text has a call to make."""
    return isinstance(text, CallText) or (isinstance(text, Text) and any(map(names_call, text.fields.values())))


def to_data(text: Any) -> Any:
    """Return a text, or a value of a field, as a JSON value for :func:`from_data`; a call is not one."""
    if not isinstance(text, Text):
        return text
    return [text.for_model, text.for_person, {name: to_data(value) for name, value in text.fields.items()}]


def from_data(data: Any) -> Any:
    """Return what :func:`to_data` returned as ``data``.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(data, list):
        return data
    for_model, for_person, fields = data
    return Text(for_model, for_person, {name: from_data(value) for name, value in fields.items()})


def mapped(text: str | Text, change: Callable[[str], str]) -> str | Text:
    """Return a string changed by ``change``, or a text with its fields changed, as far as they are strings or texts."""
    if not isinstance(text, Text):
        return change(text)
    fields = {
        name: mapped(value, change) if type(value) in (str, Text) else value for name, value in text.fields.items()
    }
    return Text(text.for_model, text.for_person, fields)


def worded(text: str | Text, reader: Reader) -> str:
    """Return a text, or a string as it is, for a reader."""
    return text.worded(reader) if isinstance(text, Text) else text


class _Fields(dict[str, Any]):
    def __init__(self, fields: Mapping[str, Any], reader: Reader) -> None:
        super().__init__({name: worded(value, reader) for name, value in fields.items()})
        self._reader = reader

    def __missing__(self, name: str) -> str:
        return self._reader.term(name, self)


class Reader:
    """Who reads a text: this one is a model whose client lists the meta-tools; others are of classes below it."""

    is_person = False

    def term(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return what a field is that the text itself does not have; a name, such as TOOL_LIST, stands for itself."""
        return f"{fields['tool']}: " if name == "called" else _MODEL_TERMS.get(name, name)

    def call_text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a call of the meta-tool ``tool`` as the reader writes it: the name and the arguments."""
        return f"{tool} {json.dumps(arguments, ensure_ascii=False, separators=(',', ':'))}"

    def proposed(self, tool: str, arguments: Mapping[str, Any]) -> ProposedCall | None:
        """Return the call of a meta-tool that is the next step, as the reader makes it; None: it cannot."""
        return tool, arguments


_MODEL_TERMS = {
    "retry_after": "as long as retry_after_s says",
    "repeat": "repeat this call with approval_token",
    "bundle": "the file that REQUESTS_CA_BUNDLE names",
    "proxy": "which HTTPS_PROXY names",
}
"""Field that a text does not have → its words for a model."""

MODEL = Reader()


class _Person(Reader):
    is_person = True


PERSON = _Person()
"""A person of whose machine nothing is known."""
