"""Load YAML and JSON with the lines of values, for error messages, and within limits.

PyYAML follows YAML 1.1, in which the country code ``NO`` is false and ``12:30`` a number. Here only ``true``,
``false``, ``null`` and numbers are not text, as in YAML 1.2 and JSON, and keys are always text.

What pydantic says about the data is reported as ``file:line: key: problem``.

A document of ten megabytes has a million values. Lines are therefore not recorded: the text or its nodes are scanned
again for the few locations that problems and tools refer to.
"""

from __future__ import annotations

import functools
import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from toolfold.errors import SourceError
from toolfold.fuzzy import did_you_mean
from toolfold.text_safety import quoted


class Limits(NamedTuple):
    """The bounds of a file. Real documents have up to 40 levels; the largest one that a person wrote has 130 kB.

    Attributes:
        depth: levels of nesting.
        aliased: values that aliases may add; nested ones add any number in ten lines.
        max_bytes: its size.
        may_be_json: whether it may be JSON, which then has its size as the only bound. What a person writes in braces
            is YAML, in which a key that is given twice is a mistake.
    """

    depth: int = 200
    aliased: int = 100_000
    max_bytes: int = 8 << 20
    may_be_json: bool = False


LIMITS = Limits()

Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value, like the locations of pydantic."""

Tree = dict[str | int, Any]
"""Keys and indexes → those that are wanted inside, as a tree."""

Scan = Callable[[Tree], dict[Location, int]]

_MAX_DIGITS = 300
_TAG = "tag:yaml.org,2002:"

_PLAIN = re.compile(
    r"(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<int>[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<null>~|null|Null|NULL|)"
)
"""Types of scalars without quotes, as in YAML 1.2 (section 10.3, core schema); others are text."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its path, or name, its data, and what returns the lines of those of given locations that exist.

    ``aliased`` is the number of values that its aliases add.
    """

    path: Path | str
    data: Any
    scan: Scan = field(repr=False)
    first_line: int = 1
    aliased: int = 0

    def lines(self, locations: Iterable[Location]) -> dict[Location, int]:
        """Return the line of each of ``locations``, or of the closest enclosing value that exists."""
        wanted, tree = set(locations), Tree()
        for at in wanted:
            functools.reduce(lambda branch, key: branch.setdefault(key, {}), at, tree)
        found = {(): self.first_line, **self.scan(tree)}
        return {at: next(found[at[:most]] for most in range(len(at), -1, -1) if at[:most] in found) for at in wanted}

    def where(self, *at: str | int) -> str:
        """Return ``file:line`` of a location, or of the closest enclosing value that exists."""
        return f"{self.path}:{self.lines([at])[at]}"


def load(path: Path, limits: Limits = LIMITS) -> Document:
    """Read one file.

    Raises:
        SourceError: The file cannot be read, is not YAML, is too large, or repeats a key in one mapping.
    """
    try:
        if path.stat().st_size > limits.max_bytes:
            raise SourceError([f"{path}:1: is larger than {limits.max_bytes >> 20} MB"])
        content = path.read_bytes()
    except OSError as error:
        raise SourceError([f"{path}:1: cannot be read: {error.strerror}"]) from None
    return parse(path, decode(path, content), limits=limits)


def decode(path: Path | str, content: bytes) -> str:
    """Return the content of a file as text.

    Raises:
        SourceError: It is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SourceError([f"{path}:{line}: is not UTF-8"]) from None


def parse(path: Path | str, text: str, first_line: int = 1, limits: Limits = LIMITS) -> Document:
    """Parse YAML, or JSON where ``limits`` allow it, that is a file or the part of one that begins at ``first_line``.

    Raises:
        SourceError: It is neither, exceeds the limits, or repeats a key in one mapping of YAML.
    """
    if limits.may_be_json and text.lstrip()[:1] == "{":
        try:
            # No number of JSON: int() raises ValueError for NaN and Infinity.
            return Document(path, json.loads(text, parse_constant=int), functools.partial(_json_lines, text))
        except json.JSONDecodeError as error:
            # YAML may begin with a brace as well; only a file called .json must be JSON.
            if not str(path).endswith((".yaml", ".yml")):
                raise SourceError([f"{path}:{error.lineno}: is not valid JSON: {error.msg}"]) from None
        except (ValueError, RecursionError) as error:
            reason = "values are nested too deeply" if isinstance(error, RecursionError) else "a number is too large"
            raise SourceError([f"{path}:1: is not valid JSON: {reason}"]) from None
    try:
        loader = _Loader(text)
        loader.max_depth = limits.depth
        root, builder = loader.get_single_node(), _Builder(limits.aliased)
        data = None if root is None else builder.value(root, root)[0]
        scan = functools.partial(_yaml_lines, root, first_line)
        return Document(path, data, scan, first_line, builder.aliased)
    except yaml.MarkedYAMLError as error:
        # What is not closed is found at the end, far from where it begins.
        mark = error.context_mark if "end of stream" in str(error.problem) else error.problem_mark
        line, problem = 1 if mark is None else mark.line + 1, error.problem or error.context or ""
        if not isinstance(error, _RefusedError):
            hint = "; put the text in quotes" if "mapping values" in problem else ""
            problem = f"is not valid YAML: {problem}{hint}"
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.encode(errors="replace")[:position].count(b"\n") + 1
        problem = "contains a character that YAML does not allow"
    raise SourceError([f"{path}:{line - 1 + first_line}: {problem}"])


class _RefusedError(yaml.MarkedYAMLError):
    def __init__(self, node: yaml.Node, problem: str) -> None:
        super().__init__(problem=problem, problem_mark=node.start_mark)


# libyaml is ten times as fast; not every build of PyYAML has it.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]  # of either of two classes
    """Composes nodes with the types of YAML 1.2, down to ``max_depth``: 100,000 brackets end a process otherwise."""

    max_depth = LIMITS.depth
    _depth = -1

    def descend_resolver(self, parent: yaml.Node, _: object) -> None:
        self._depth += 1
        if self._depth > self.max_depth:
            raise _RefusedError(parent, f"has values nested more than {self.max_depth} levels deep")

    def ascend_resolver(self) -> None:
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        found = _PLAIN.fullmatch(value) if kind is yaml.ScalarNode and implicit[0] else None
        return _TAG + ("str" if found is None else str(found.lastgroup))


class _Builder:
    """Makes values of nodes. An alias is a node that has been read; it shares the value, and its size counts again."""

    def __init__(self, max_aliased: int) -> None:
        self.aliased, self._max_aliased = 0, max_aliased
        self._known: dict[yaml.Node, tuple[Any, int] | None] = {}

    def value(self, node: yaml.Node, marked: yaml.Node) -> tuple[Any, int]:
        """Return the value of ``node``, whose line is that of ``marked``, and its size with aliases expanded."""
        if node in self._known:
            made = self._known[node]
            if made is None:
                raise _RefusedError(marked, "has an alias inside the value that it refers to")
            self.aliased += made[1]
            if self.aliased > self._max_aliased:
                most = f"aliases that add more than {self._max_aliased:,} values" if self._max_aliased else "an alias"
                raise _RefusedError(marked, f"has {most}; write the values again")
            return made
        self._known[node] = None
        if isinstance(node, yaml.ScalarNode):
            made = _scalar(node), 1
        else:
            members, size = dict[str | int, Any](), 1
            for key, shown, inner in _members(node):
                if key == "<<":  # which YAML 1.2 has no more
                    raise _RefusedError(shown, "has a merge key (<<); write its keys again")
                if key in members:
                    raise _RefusedError(shown, f"key {key!r} is given twice")
                members[key], added = self.value(inner, shown)
                size += added
            made = members if isinstance(node, yaml.MappingNode) else list(members.values()), size
        self._known[node] = made
        return made


def _members(node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node, yaml.Node]]:
    """Yield the key or index of each value in ``node``, the node with its line, and that of the value."""
    if isinstance(node, yaml.MappingNode):
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedError(key, "a key must be text")
            yield key.value, key, inner
    elif isinstance(node, yaml.SequenceNode):
        yield from ((number, item, item) for number, item in enumerate(node.value))


def _scalar(node: yaml.ScalarNode) -> Any:
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if kind == "str":
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind not in ("int", "float"):
        raise _RefusedError(node, f"has the tag {node.tag[:60]!r}, which is not read")
    try:
        if len(text) > _MAX_DIGITS:  # int() has a limit of its own
            number = math.inf
        else:
            number = float(text) if kind == "float" else int(text, 0 if text[:2] in ("0o", "0x") else 10)
    except ValueError:
        raise _RefusedError(node, f"{text[:40]!r} is not of the type {kind}") from None
    if abs(number) == math.inf:
        raise _RefusedError(node, "has a number that is too large")
    return number


def _yaml_lines(root: yaml.Node, first_line: int, tree: Tree) -> dict[Location, int]:
    found: dict[Location, int] = {}

    def scan(node: yaml.Node, tree: Tree, at: Location) -> None:
        for key, marked, inner in _members(node) if tree else ():
            if key in tree:
                found[(*at, key)] = marked.start_mark.line + first_line
                scan(inner, tree[key], (*at, key))

    scan(root, tree, ())
    return found


_decode_value = json.JSONDecoder().raw_decode
_BETWEEN = re.compile(r"[ \t\n\r,:]*")


def _json_lines(text: str, tree: Tree) -> dict[Location, int]:
    """Return the lines of what of ``tree`` is in ``text``, which is valid JSON.

    Only objects and lists on the way to a wanted value are read in Python; the parser of ``json`` skips the others.
    """
    found: dict[Location, int] = {}

    def after(index: int) -> int:
        return _BETWEEN.match(text, index).end()  # type: ignore[union-attr]  # it matches the empty string

    def scan(index: int, tree: Tree, at: Location) -> int:
        """Record the positions of the members of the value at ``index`` that ``tree`` has, and return its end."""
        opening = text[index]
        if opening not in "{[" or not tree:
            return int(_decode_value(text, index)[1])
        number, index = 0, after(index + 1)
        while text[index] not in "}]":
            key, start = number, index
            if opening == "{":
                key, index = _decode_value(text, index)
                index = after(index)
            if key in tree:
                found[(*at, key)] = start
            index = after(scan(index, tree.get(key, {}), (*at, key)))
            number += 1
        return index + 1

    scan(after(0), tree, ())
    ends = [end.start() for end in re.finditer("\n", text)] if found else []
    return {at: bisect_left(ends, position) + 1 for at, position in found.items()}


ModelT = TypeVar("ModelT", bound=BaseModel)

_MADE_BY_PYDANTIC = frozenset({"str", "bool", "int", "float", "list[str]", "[key]"})
"""Names that pydantic appends to a location, of the types of a union that a value does not match."""

_SUBJECT = re.compile(r"^(Input|String|List|Dictionary) should ")


def parse_model(model: type[ModelT], document: Document, data: Any, problems: list[str]) -> ModelT | None:
    """Return ``data`` of ``document`` as a model, or None after adding to ``problems`` what is wrong with it, once."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found: dict[str, None] = {}
        for item in error.errors():
            location = tuple(part for part in item["loc"] if part not in _MADE_BY_PYDANTIC)
            key = ".".join(map(str, location)) or "file"
            found[f"{document.where(*location)}: {key}: {_problem(item, location, model)}"] = None
        problems += found
        return None


def _problem(item: Any, location: Location, model: type[BaseModel]) -> str:
    kind, given = item["type"], item["input"]
    if kind in ("model_type", "dict_type"):
        shown = ", ".join(_keys_at(model, location)[:4]) if kind == "model_type" else ""
        return f"must be keys and values{f', such as {shown}' if shown else ''}"
    if kind == "extra_forbidden":
        hint = did_you_mean(str(location[-1]), _keys_at(model, location[:-1]))
        return f"there is no such key. {hint}".rstrip(". ")
    if kind == "missing":
        return "is missing"
    text = str(item["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    requirement = _SUBJECT.sub("must ", text)
    is_shown = requirement != text and ", not " not in text and location[:1] != ("auth",)  # which may have a key
    return f"{requirement}, not {quoted(given)}" if is_shown else requirement


def _keys_at(model: type[BaseModel], location: Location) -> list[str]:
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
