r"""Change one member of a JSON file that people write, and leave every other character as it is.

The configurations of some clients have comments and trailing commas (JSONC). Both are blanked for parsing, so that each
position in the plain text is the same position in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
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


class Document:
    """The text of a file, and its value.

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

    def members(self, path: Sequence[str] = ()) -> list[Member]:
        """Return the members of the object at ``path``; none where there is no object."""
        found = self._find(path)
        start = found.value_start if isinstance(found, Member) else found
        return [] if start is None or self._plain[start : start + 1] != "{" else list(self._walk(start))

    def _find(self, path: Sequence[str]) -> Member | int | None:
        """Return the member at ``path``; for an empty one the position of the document."""
        at: Member | int | None = _skip(self._plain, 0)
        for number, name in enumerate(path):
            at = next((member for member in self.members(path[:number]) if member.name == name), None)
            if at is None:
                return None
        return at

    def _walk(self, start: int) -> Iterator[Member]:
        decoder = json.JSONDecoder()
        at = _skip(self._plain, start + 1)
        while self._plain[at] != "}":
            name, end = decoder.raw_decode(self._plain, at)
            value_start = _skip(self._plain, _skip(self._plain, end) + 1)
            value, value_end = decoder.raw_decode(self._plain, value_start)
            yield Member(name, value, at, value_start, value_end)
            at = _skip(self._plain, value_end)
            at = _skip(self._plain, at + 1) if self._plain[at] == "," else at

    def with_member(self, path: Sequence[str], value: Any) -> Document:
        """Return the document with ``value`` at ``path``; objects on the way that are missing are added."""
        if not self._plain.strip():
            return Document("{}\n").with_member(path, value)
        found = self._find(path)
        if isinstance(found, Member):
            text = self._dump(value, self._indent_of(found.start))
            return Document(self.text[: found.value_start] + text + self.text[found.end :])
        *above, name = path
        if above and self._find(above) is None:
            return self.with_member(above, {name: value})
        return self._with_new_member(above, name, value)

    def _with_new_member(self, above: Sequence[str], name: str, value: Any) -> Document:
        parent, siblings = self._find(above), self.members(above)
        start = parent.value_start if isinstance(parent, Member) else parent or 0
        last = siblings[-1].end if siblings else start + 1
        close = _skip(self._commas, last)
        has_comma = self._commas[close] == ","
        close = self._plain.index("}", last)
        outer = self._indent_of(start)
        indent = self._indent_of(siblings[0].start) if siblings else outer
        indent = indent if len(indent) > len(outer) else outer + self._unit
        end = len(self.text[:close].rstrip())  # after comments behind the last member
        closing = "" if "\n" in self.text[end:close] else self._newline + outer
        before = self.text[:last] + ("," if siblings and not has_comma else "") + self.text[last:end]
        added = f"{self._newline}{indent}{json.dumps(name)}: {self._dump(value, indent)}{closing}"
        return Document(before + added + self.text[end:])

    def without_member(self, path: Sequence[str]) -> Document:
        """Return the document without the member at ``path``, and without the comma and the lines that it had."""
        found = self._find(path)
        if not isinstance(found, Member):
            return self
        comma = _skip(self._commas, found.end)
        start, end = found.start, found.end
        text = self.text
        if self._commas[comma] == ",":
            end = comma + 1
        elif (before := self._commas[:start].rstrip()).endswith(","):
            at = len(before) - 1
            text, start, end = text[:at] + text[at + 1 :], start - 1, end - 1
        line = len(text[:start].rstrip(" \t"))
        rest = re.compile(r"[ \t]*(\r?\n)?").match(text, end)
        is_whole_line = rest is not None and rest[1] and text[line - 1 : line] == "\n"
        return Document(text[:line] + text[rest.end() :] if rest and is_whole_line else text[:start] + text[end:])

    def all_members(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Member]]:
        """Yield each member of the document, also of inner objects, with its path."""
        for member in self.members(path):
            yield (*path, member.name), member
            yield from self.all_members((*path, member.name))

    def _indent_of(self, position: int) -> str:
        """Return the white space at the beginning of the line of ``position``."""
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip())]

    def _dump(self, value: Any, indent: str) -> str:
        unit: str = self._unit
        return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", self._newline + indent)


def _blank(found: re.Match[str], kind: str) -> str:
    """Return spaces of the same length for a comment or comma; a string stays."""
    text = found[0]
    return re.sub(r"[^\n]", " ", text) if text.startswith(kind) else text


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
