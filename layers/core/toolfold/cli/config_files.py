"""Change one member of a configuration file that people write, JSON or TOML, and leave all else as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")


class Member(NamedTuple):
    """A member of an object, and where it is in the text."""

    name: str
    value: Any
    start: int
    value_start: int
    end: int


class JsonDocument:
    """The text of a file, and its value.

    Comments and trailing commas are blanked for parsing, so that each position is the same in the file.

    Args:
        text: JSON, with or without comments and trailing commas.

    Raises:
        json.JSONDecodeError: it is something else; has the line.
        RecursionError: it is nested too deeply.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._commas = _COMMENT.sub(lambda found: _blank(found, "/"), text)
        self._plain = _TRAILING_COMMA.sub(lambda found: _blank(found, ","), self._commas)
        self.value: Any = json.loads(self._plain) if self._plain.strip() else {}
        self._newline = "\r\n" if "\r\n" in text else "\n"
        indents = re.findall(r"(?m)^([ \t]+)\"", self._plain)
        self._unit = min(indents, key=len) if indents else "  "

    def _members(self, start: int) -> Iterator[Member]:
        """Yield the members of the object that begins at ``start``; none where there is no object."""
        if self._plain[start : start + 1] != "{":
            return
        decoder = json.JSONDecoder()
        at = _skip(self._plain, start + 1)
        while self._plain[at] != "}":
            name, end = decoder.raw_decode(self._plain, at)
            value_start = _skip(self._plain, _skip(self._plain, end) + 1)
            value, value_end = decoder.raw_decode(self._plain, value_start)
            yield Member(name, value, at, value_start, value_end)
            at = _skip(self._plain, value_end)
            at = _skip(self._plain, at + 1) if self._plain[at] == "," else at

    def _find(self, path: Sequence[str]) -> Member | None:
        """Return the member at ``path``; for an empty one the document."""
        start = _skip(self._plain, 0)
        found: Member | None = Member("", self.value, start, start, len(self.text))
        for name in path:
            members = self._members(found.value_start) if found else ()
            found = next((member for member in members if member.name == name), None)
        return found

    def with_member(self, path: Sequence[str], value: Any) -> JsonDocument:
        """Return the document with ``value`` at ``path``; objects on the way that are missing are added.

        What is new becomes the first member, so that neither the last one nor the comments behind it change.
        """
        if not self._plain.strip():
            return JsonDocument("{}\n").with_member(path, value)
        if found := self._find(path):
            text = self._dump(value, self._indent_of(found.start))
            return JsonDocument(self.text[: found.value_start] + text + self.text[found.end :])
        *above, name = path
        parent = self._find(above)
        if parent is None:
            return self.with_member(above, {name: value})
        start, outer = parent.value_start + 1, self._indent_of(parent.value_start)
        close = _skip(self._plain, start)
        end = "," if self._plain[close] != "}" else "" if "\n" in self.text[start:close] else self._newline + outer
        member = f"{json.dumps(name)}: {self._dump(value, outer + self._unit)}{end}"
        return JsonDocument(f"{self.text[:start]}{self._newline}{outer}{self._unit}{member}{self.text[start:]}")

    def without_member(self, path: Sequence[str]) -> JsonDocument:
        """Return the document without the member at ``path``, and without the comma and the lines that it had."""
        found = self._find(path)
        if found is None:
            return self
        text, start, end = self.text, found.start, found.end
        before, comma = self._commas[:start].rstrip(), _skip(self._commas, end)
        if self._commas[comma] == ",":
            end = comma + 1
        elif before.endswith(","):
            text, start, end = text[: len(before) - 1] + text[len(before) :], start - 1, end - 1
        line = len(text[:start].rstrip(" \t"))
        rest = re.compile(r"[ \t]*\r?\n").match(text, end)
        is_whole_line = rest is not None and text[line - 1 : line] == "\n"
        return JsonDocument(text[:line] + text[rest.end() :] if rest and is_whole_line else text[:start] + text[end:])

    def _indent_of(self, position: int) -> str:
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip())]

    def _dump(self, value: Any, indent: str) -> str:
        return json.dumps(value, indent=self._unit, ensure_ascii=False).replace("\n", self._newline + indent)


def _blank(found: re.Match[str], kind: str) -> str:
    """Return spaces of the same length for a comment or comma; a string stays."""
    text = found[0]
    return re.sub(r"[^\n]", " ", text) if text.startswith(kind) else text


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


_HEADER = re.compile(r"^[ \t]*\[\[?(?P<path>[^\[\]\n]+)\]\]?[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*[^\s#][^\n]*$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlDocument:
    """The text of a file, and its value.

    A table is added at the end, and removed from its header to the next one. What is written in another way, such as
    inline, stays: the value is then not the one that it should be.

    Args:
        text: TOML.

    Raises:
        tomllib.TOMLDecodeError: it is something else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.value: dict[str, Any] = tomllib.loads(text)

    def with_member(self, path: Sequence[str], value: Mapping[str, Any]) -> TomlDocument:
        """Return the document with the table ``value`` at ``path``, two names.

        Raises:
            ValueError: the file has it in a form that cannot be changed.
        """
        rest = self.without_member(path).text.rstrip()
        return TomlDocument((f"{rest}\n\n" if rest else "") + to_toml(path, value))

    def without_member(self, path: Sequence[str]) -> TomlDocument:
        """Return the document without the table at ``path``, two names, and the tables in it."""
        if path[1] not in self.value.get(path[0], {}):
            return self
        headers = list(_HEADER.finditer(self.text))
        ends = [*(header.start() for header in headers[1:]), len(self.text)]
        text = self.text
        for header, end in reversed(list(zip(headers, ends, strict=False))):
            names = [name.strip("\"'") for name in re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', header["path"])]
            if names[:2] == list(path):
                # Blank lines and comments at its end are about what follows.
                last = max(line.end() for line in _LINE.finditer(text, 0, end))
                before, after = text[: header.start()], text[last:].lstrip("\n")
                text = before + after if after or not before else before.rstrip("\n") + "\n"
        return TomlDocument(text)

    def with_line(self, name: str, value: Any) -> TomlDocument:
        """Return the document with a top-level ``name = value``: in the place of its line, else before any table.

        Raises:
            ValueError: the file has it in a form that cannot be changed.
        """
        line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        table = re.search(r"(?m)^[ \t]*\[", self.text)
        top = table.start() if table else len(self.text)
        if known := re.compile(rf"(?m)^[ \t]*{name}[ \t]*=[^\n#]*").search(self.text, 0, top):
            text = self.text[: known.start()] + line + self.text[known.end() :]
        else:
            above = self.text[:top]
            newline = "\n" if above and not above.endswith("\n") else ""
            text = f"{above}{newline}{line}\n{self.text[top:]}"
        made = TomlDocument(text)
        if made.value != {**self.value, name: value}:
            raise ValueError("it is written in a form that cannot be changed")
        return made


def to_toml(path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return a table as the text of a file."""
    return "\n".join(_lines(path, value)) + "\n"


def _lines(path: Sequence[str], value: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{'.'.join(map(_key, path))}]"
    for name, one in value.items():
        if not isinstance(one, dict):
            # Texts and lists of texts are the same in JSON.
            yield f"{_key(name)} = {json.dumps(one, ensure_ascii=False)}"
    for name, one in value.items():
        if isinstance(one, dict):
            yield ""
            yield from _lines([*path, name], one)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


Document = JsonDocument | TomlDocument
