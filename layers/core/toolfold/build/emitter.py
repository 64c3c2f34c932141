"""Convert the models of sources and tools to entries of the compiled catalog.

Texts and schemas of others are made to fit it: one paragraph, visible characters, https addresses, limited length.
What a tool is called with is not changed: only descriptions are.

Names of the tools: ``source__tool`` for those whose source has names of its own, at most 64 letters, digits and
underscores. Where a look-up would take several names for the same, *every* one of them gets a hash of the original
name, so that neither the order of the sources nor that of their tools has an influence.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, get_args

import jsonschema_rs

from toolfold.build.importers.base import Tool
from toolfold.build.schema import MAX_RELATIONS, SUMMARY_LIMIT
from toolfold.catalog import entries, json_schema
from toolfold.catalog.entries import name_key
from toolfold.catalog.text_checks import MAX_TEXT, text_problem
from toolfold.fuzzy import closest

_TEXT_KEYWORDS = frozenset({"description", "title", "$comment"})
_INSECURE = re.compile(r"\b(?:http|ftp|file|ws)://", re.IGNORECASE)
_USER_NAME = re.compile(r"(?<=://)[^/\s@]*@")
_TAG = re.compile(
    r"</[A-Za-z][^\s<>]{0,20}\s*>|<[A-Za-z][A-Za-z0-9-]{0,20}(?:(?:\s[^<>]{0,200})?/|\s[^<>]{0,200}=[^<>]{0,200})>"
    r"|<(?:blockquote|br|d[dlt]|details|div|h[1-6r]|iframe|img|li|ol|p|pre|script|style|su[bp]|summary|table|t[dhr]|tbody"
    r"|thead|ul|wbr)>",
    re.IGNORECASE,
)
"""A tag of HTML. Any other ``<word>`` is a placeholder."""

_INLINE = re.compile(
    r"`{1,3}|(?<!\w)\*\*(?=\S)(?P<bold>[^*]{1,500})(?<=\S)\*\*"
    r"|</?(?:a|b|code|del|em|i|kbd|small|span|strong|tt|u)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
"""Markup within a line: what stands beside it may be a sign or the rest of a word."""

_PARAGRAPH_END = re.compile(r"([A-Za-z0-9)\]\"'`])\n(?:\n+|(?=[A-Z][A-Za-z ]{0,30}:(?:\n|$)))")
"""The end of a paragraph without a sign: before an empty line, or before a heading, as of the arguments."""

_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{0,500}\)")
_SENTENCE_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!\bvs)(?<!\betc)(?<!: \d)(?:(?<=[a-z0-9)\]'\"])[.!?](?=\s|$)|(?<=[A-Z]{2})[.!?](?=\s|$))"
)
_LIST_START = re.compile(r"(?:[^.!?]{0,30}: )?1\. ")
"""The beginning of a text that is a numbered list, with a heading."""

_MIN_SENTENCE = 12
"""Characters below which what looks like a sentence is the start of one, as in "E.g."."""


def clean_text(text: Any, most: int = MAX_TEXT) -> str:
    """Return ``text`` as one paragraph of at most ``most`` characters that a catalog may have.

    Line breaks become spaces, paragraphs sentences; invisible characters and markup are left out, links are their text,
    and addresses without encryption lose their scheme. What is no text becomes "".
    """
    return _clean(text, most) if isinstance(text, str) else ""


@functools.lru_cache(maxsize=20_000)
def _clean(text: str, most: int) -> str:
    """Return a clean text. Tools of one source share definitions, and with them hundreds of texts."""
    lines = "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))
    visible = " ".join(_PARAGRAPH_END.sub(r"\1. ", lines).split())
    if not visible.isprintable():
        visible = "".join(sign for sign in visible if unicodedata.category(sign)[0] != "C")
    plain = _TAG.sub(" ", _INLINE.sub(r"\g<bold>", _LINK.sub(r"\1", visible)))
    plain = _USER_NAME.sub("", _INSECURE.sub("", plain))
    plain = " ".join(plain.split()).lstrip("#＃﹟ ").strip()
    plain = shorten(plain, most)
    return "" if text_problem(plain) else plain


def first_sentence(text: str, most: int = SUMMARY_LIMIT) -> str:
    """Return the first sentence of a clean text, without its full stop, shortened to ``most`` characters at a word."""
    if found := _LIST_START.match(text):
        text = text[found.end() :]
    end = next((found for found in _SENTENCE_END.finditer(text) if found.start() >= _MIN_SENTENCE), None)
    return shorten((text if end is None else text[: end.start()]).strip().rstrip(".").rstrip(), most)


def shorten(text: str, most: int) -> str:
    """Return ``text``, cut at the end of a sentence in its second half, or of a word, to at most ``most`` characters.

    >>> shorten("Lists pets. Newest first", 14), shorten("Lists pets, the newest first", 16)
    ('Lists pets.', 'Lists pets…')
    """
    if len(text) <= most:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text) if most // 2 <= found.end() <= most]
    if ends:
        return text[: ends[-1]]
    return f"{text[: most - 1].rpartition(' ')[0].rstrip(' ,;:(–-') or text[: most - 1]}…"


_REGEX = jsonschema_rs.validator_for({"format": "regex"}, validate_formats=True)
"""What JavaScript takes, which many clients are written in: they refuse all tools for the pattern of one."""


@functools.lru_cache(maxsize=1000)
def _is_regex(pattern: str) -> bool:
    with contextlib.suppress(ValueError):  # one that is too large
        return _REGEX.is_valid(pattern) and bool(jsonschema_rs.validator_for({"pattern": pattern}))
    return False


def clean_schema(schema: Any, left_out: list[str]) -> Any:
    """Return a JSON Schema whose descriptions are clean, and without annotations that are not of JSON Schema.

    ``left_out`` gets the patterns that are no regular expressions of JSON Schema; services check values themselves.
    """
    if not isinstance(schema, Mapping):
        return schema
    if "pattern" in schema and not _is_regex(str(schema["pattern"])):
        left_out.append(str(schema["pattern"]))
        schema = {key: value for key, value in schema.items() if key != "pattern"}
    cleaned = {key: clean_text(value) if key in _TEXT_KEYWORDS else value for key, value in schema.items()}
    kept = {key: value for key, value in cleaned.items() if value or key not in _TEXT_KEYWORDS}
    kept = {key: value for key, value in kept.items() if not key.startswith("x-")}
    return json_schema.with_inner(kept, lambda _, part: clean_schema(part, left_out))


MAX_SEE_ALSO = 3
MAX_LABEL, MAX_PARAGRAPH = 200, 1900
"""Characters of a short and of a long text of a source."""

_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z]+")
"""A name that is also an ordinary word: in a description it is not taken for the name of a tool."""

HASH_DIGITS = 8
"""Hexadecimal digits of the SHA-256 of a tool: enough to compare two versions of the same tool."""


def source_entry(source: entries.Source) -> dict[str, Any]:
    """Return the entry of a source in the catalog, without the fields that have their usual value."""
    entry = _stated(source)
    del entry["id"]
    auth = None if source.auth is None else _stated(source.auth)
    return {"title": source.title, "description": source.description, **entry, "auth": auth}


def _stated(record: entries.Source | entries.Auth) -> dict[str, Any]:
    return {key: value for key, value in record._asdict().items() if value or key not in record._field_defaults}


_MADE_LATER = frozenset({"name", "confirm", "relations", "see_also", "hash"})
"""Fields of an entry that depend on other tools, or that few tools have."""


def tool_entry(source_id: str, category: str, tool: Tool, identifiers: Sequence[str] = ()) -> dict[str, Any]:
    """Return the entry of ``tool`` of a source, with the fields of ``catalog.entries.Tool``.

    ``relations`` are added where there are any; :func:`finish` adds what depends on the other tools.
    """
    entry = {key: getattr(tool, key, None) for key in entries.Tool._fields if key not in _MADE_LATER}
    answered = set(re.findall(r"\w+", tool.returns))
    answer: dict[str, Any] = {"csv": None, "rows": [], "kind": None}
    if about := [name for name in identifiers if name in answered]:
        answer["identifiers"] = about
    blank_allowed = list(json_schema.properties(tool.parameters))
    entry |= {
        "source": source_id,
        "category": category,
        "call": {"function": tool.function, "blank_allowed": blank_allowed, **tool.call},
        "answer": {**answer, **tool.answer},
    }
    return {**entry, "confirm": tool.confirm} if tool.confirm else entry


def finish(tools: Mapping[str, dict[str, Any]]) -> None:
    """Add the fields that depend on other tools: ``see_also`` and ``hash``.

    ``see_also`` contains the tools in the description, and the tools of the same category whose ``use_instead`` refers
    to this one.
    """
    referrers: dict[str, list[str]] = {}
    for name, entry in tools.items():
        for target in entry["use_instead"].values():
            referrers.setdefault(target, []).append(name)
    for name, entry in tools.items():
        near = [other for other in referrers.get(name, []) if tools[other]["category"] == entry["category"]]
        words = _NAME.findall(entry["description"])
        named = [word for word in words if word in tools and not _PLAIN_WORD.fullmatch(word)]
        others = {*entry["use_instead"].values(), name}
        entry["see_also"] = [other for other in dict.fromkeys(named + near) if other not in others][:MAX_SEE_ALSO]
        entry["hash"] = hashlib.sha256(json.dumps([name, entry], sort_keys=True).encode()).hexdigest()[:HASH_DIGITS]


OriginalName = tuple[str, str]
"""Id of a source, and the name that the source has for a tool."""

_MAX_NAME = 64
_SEPARATOR = "__"
_NAME_DIGITS = (6, 12, 40)
"""Digits of the hash in names that are the same otherwise, or too long; more where these are the same as well."""

_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_]+")
_LETTER = re.compile(r"[A-Za-z0-9]")
_KEYWORDS = frozenset(word.upper() for word in (*keyword.kwlist, *keyword.softkwlist))


def safe_name(original: str) -> str:
    """Return a name of a tool as a word of a scripting language; empty characters and keywords get ``_``.

    Scripts cannot read an attribute that begins with ``_``: such a name, and one that begins with a digit, get an n.

    Example:
        >>> safe_name("get-user.by id"), safe_name("2fa"), safe_name("_search"), safe_name("import")
        ('get_user_by_id', 'n2fa', 'n_search', 'import_')
    """
    name = _OTHER_CHARACTERS.sub("_", original) or "_"
    if name[0].isdigit() or name[0] == "_":
        return f"n{name}"
    return f"{name}_" if name.upper() in _KEYWORDS else name


def assign_names(
    prefixed: Iterable[OriginalName], taken: Collection[str] = (), reserved: Collection[str] = ()
) -> Mapping[OriginalName, str]:
    """Return the name of each of the ``prefixed`` tools: one-to-one, and the same for the same tools in any order.

    None of them is ``taken`` by a tool that keeps its name, or ``reserved``.
    """
    # Of a name in another script nothing may be left: such names would differ in the number of underscores.
    least = _NAME_DIGITS[0]
    names = {one: _shortened(one, 0 if _LETTER.search(one[1]) else least) for one in dict.fromkeys(prefixed)}
    for digits in _NAME_DIGITS:
        counts = Counter(name_key(name) for name in (*names.values(), *taken, *reserved))
        names = {
            original: _shortened(original, digits) if counts[name_key(name)] > 1 else name
            for original, name in names.items()
        }
    return names


def _shortened(original: OriginalName, digits: int) -> str:
    """Return the name with ``digits`` of the hash of the original one at its end; one that is too long has them too."""
    source, name = original
    whole = f"{source}{_SEPARATOR}{safe_name(name)}"
    if not digits and len(whole) <= _MAX_NAME:
        return whole
    digits = digits or _NAME_DIGITS[0]
    hashed = name if digits == _NAME_DIGITS[0] else f"{source}/{name}"
    digest = hashlib.sha256(hashed.encode()).hexdigest()[:digits]
    return f"{whole[: _MAX_NAME - 1 - digits]}_{digest}"


_KINDS = get_args(entries.RelationKind)
_NEEDS = _KINDS[0]


def compile_relations(
    related: Iterable[tuple[Tool, Mapping[str, str]]], names: Sequence[str], problems: list[str]
) -> dict[str, list[list[str]]]:
    """Return the entry ``relations`` of each tool: ``[to, kind]``, and ``via`` where it is given.

    Each tool comes with the names of its source: the name that the source has for a tool → its name in the catalog.
    """
    known = {name_key(name): name for name in names}
    compiled: dict[str, list[list[str]]] = {}
    needs: dict[str, dict[str, Callable[[], str]]] = {}
    for tool, own in related:
        if (number := len(tool.relations)) > MAX_RELATIONS:  # its own and those of its overlay
            where = tool.where("relations")
            problems.append(f"{where}: relations of {tool.name}: has {number}; {MAX_RELATIONS} are the most")
        folded = {name_key(safe_name(original)): final for original, final in own.items()} if tool.relations else {}
        found: dict[tuple[str, str], list[str]] = {}
        for position, relation in enumerate(tool.relations):
            target = own.get(relation.to) or folded.get(name_key(safe_name(relation.to)))
            target = target or known.get(name_key(relation.to), "")
            problem = f"there is no tool {relation.to!r}.{closest(relation.to, names)}" if not target else ""
            if target == tool.name:
                problem = "names the tool itself"
            elif (target, relation.kind) in found:
                problem = f"{relation.kind} {target} is given twice"
            if problem:
                problems.append(f"{tool.where('relations', position)}: relations of {tool.name}: {problem}")
                continue
            found[target, relation.kind] = [target, relation.kind, *([relation.via] if relation.via else [])]
            if relation.kind == _NEEDS:
                needs.setdefault(tool.name, {})[target] = functools.partial(tool.where, "relations", position)
        compiled[tool.name] = sorted(found.values(), key=lambda entry: _KINDS.index(entry[1]))
    problems += _cycles(needs)
    return compiled


def _cycles(needs: Mapping[str, Mapping[str, Callable[[], str]]]) -> Iterator[str]:
    """Yield each cycle once, at the relation that closes it."""
    left = {name: dict(targets) for name, targets in needs.items()}
    while True:
        try:
            return TopologicalSorter(left).prepare()
        except CycleError as error:
            *path, name, target = reversed(error.args[1])
            cycle = " → ".join([*path, name, target])
            yield f"{left[name].pop(target)()}: relations of {name}: a cycle of {_NEEDS}: {cycle}"
