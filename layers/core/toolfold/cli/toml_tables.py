"""Change one table of a TOML file that people write, and leave every other line as it is.

A table is added at the end, and removed from its header to the next one; what the file then means is compared with what
it should mean. A table that is written in another way, such as inline, is left to the person.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolfold.cli.jsonc import Member

_HEADER = re.compile(r"^[ \t]*\[\[?(?P<path>[^\[\]\n]+)\]\]?[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
_TEXT = re.compile(
    r'(?P<key>[\w.-]+|"[^"\n]*")[ \t]*=[ \t]*'
    r'(?P<value>"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
)
"""A text anywhere: also in an inline table, and in a comment, which may hold a key that is not used any more."""

_INLINE = re.compile(r'[ \t#]*(?P<key>[\w.-]+|"[^"\n]*")[ \t]*=[ \t]*\{')
_LINE = re.compile(r"^[ \t]*[^\s#][^\n]*$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlDocument:
    """The text of a file, and its value.

    Args:
        text: TOML.

    Raises:
        tomllib.TOMLDecodeError: it is something else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.value: dict[str, Any] = tomllib.loads(text)

    def members(self, path: Sequence[str] = ()) -> list[Member]:
        """Return the members of the table at ``path``, without their places; none where there is no table."""
        found: Any = self.value
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return [Member(name, value, 0, 0, 0) for name, value in found.items()] if isinstance(found, dict) else []

    def with_member(self, path: Sequence[str], value: Mapping[str, Any]) -> TomlDocument:
        """Return the document with the table ``value`` at ``path``, two names.

        Raises:
            ValueError: the file has it in a form that cannot be changed.
        """
        rest = self.without_member(path).text.rstrip()
        made = TomlDocument((f"{rest}\n\n" if rest else "") + "\n".join(_lines(path, value)) + "\n")
        section, name = path
        expected = {**self.value, section: {**self.value.get(section, {}), name: dict(value)}}
        return _checked(made, expected)

    def without_member(self, path: Sequence[str]) -> TomlDocument:
        """Return the document without the table at ``path``, two names, and the tables in it.

        Raises:
            ValueError: the file has it in a form that cannot be changed.
        """
        section, name = path
        if name not in self.value.get(section, {}):
            return self
        headers = list(_HEADER.finditer(self.text))
        ends = [*(header.start() for header in headers[1:]), len(self.text)]
        text = self.text
        for header, end in reversed(list(zip(headers, ends, strict=True))):
            if _names(header["path"])[:2] == list(path):
                # Blank lines and comments at its end are about what follows.
                last = max(line.end() for line in _LINE.finditer(text, 0, end))
                before, after = text[: header.start()], text[last:].lstrip("\n")
                text = before + after if after or not before else before.rstrip("\n") + "\n"
        others = {key: value for key, value in self.value[section].items() if key != name}
        made = TomlDocument(text)
        # Of a section without tables nothing is left.
        return _checked(made, {**self.value, section: others} if others or section in made.value else
                        {key: value for key, value in self.value.items() if key != section})  # fmt: skip

    def all_members(self) -> Iterator[tuple[tuple[str, ...], Member]]:
        """Yield each text of the tables, with its path."""
        headers = [(header.end(), _names(header["path"])) for header in _HEADER.finditer(self.text)]
        for found in _TEXT.finditer(self.text):
            above = [names for end, names in headers if end <= found.start()]
            around = _INLINE.match(self.text, self.text.rfind("\n", 0, found.start()) + 1)
            is_inline = around is not None and around.end() <= found.start()
            keys = [*(_names(around["key"]) if around and is_inline else ()), *_names(found["key"])]
            value = found["value"].strip("\"'")
            place = (*(above[-1] if above else ()), *keys)
            yield place, Member(keys[-1], value, found.start(), found.start("value"), found.end("value"))


def _checked(made: TomlDocument, expected: Mapping[str, Any]) -> TomlDocument:
    if made.value != expected:
        raise ValueError("the table is written in a form that cannot be changed")
    return made


def _names(path: str) -> list[str]:
    return [name.strip().strip("\"'") for name in re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', path)]


def to_toml(path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return a table as the text of a file."""
    return "\n".join(_lines(path, value)) + "\n"


def _lines(path: Sequence[str], value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table of texts and lists of texts, then those of the tables in it."""
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
