"""Read the values of the arguments of meta-tools, which ``definitions`` describes.

Each meta-tool is also a tool without a source, which the reader of all tools reads. Here are other names of arguments,
whose values may change with them (``page`` is an ``offset``, ``sort`` a step of ``select``), and the text of calls.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, Tool
from toolfold.catalog.json_schema import properties, type_words
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import Names, normalize
from toolfold.meta_tools.definitions import TOOLS
from toolfold.text_safety import RepeatedName, load_json, quoted

if TYPE_CHECKING:
    from toolfold.catalog.entries import Effect
    from toolfold.wording import Text


MAX_NEXT_CALL = 600
"""Characters of the arguments of a call that an error proposes: more than any call has that a model would repeat."""

MAX_READ = 1000
"""Arguments of a call, and items of a list for a meta-tool, that are read: more than any tool takes."""

NAMES_OF_ARGUMENTS: Mapping[str, Names] = {
    name: Names(tool.arguments, {key: rule.other_names.split() for key, rule in tool.arguments.items()})
    for name, tool in TOOLS.items()
}
"""Meta-tool → what names of its arguments mean."""


def too_many(tool: str, given: Mapping[str, Any], known: Iterable[str]) -> InvalidArguments:
    """Return the error for more arguments than :data:`MAX_READ`: each is compared with all that are known."""
    takes = f"{tool} takes {', '.join([*known][:20])}."
    return InvalidArguments(f"{tool}: {len(given):,} arguments were given.", takes)


def own_name(tool: str, name: str) -> str | None:
    """Return the argument of a meta-tool that ``name`` means; None for an unknown name."""
    return name if name in TOOLS[tool].arguments else next(iter(NAMES_OF_ARGUMENTS[tool].of(name)), None)


OPTIONS = tuple(name for name in TOOLS["TOOL_CALL"].arguments if name not in ("tool_name", "arguments"))
"""Arguments of TOOL_CALL itself, beside the tool's name and its arguments."""


def own_option(item: dict[str, Any], names: Iterable[str]) -> str:
    """Remove the first of ``names`` from ``item`` and return it as text; empty where it has none of them.

    Raises:
        InvalidArguments: it is neither text nor a whole number.
    """
    for name in names:
        if not is_blank(value := item.pop(name, None)):
            text = value if isinstance(value, str) else whole_number(value)
            if text is None:
                raise InvalidArguments(f"{name} must be text, not {quoted(value)}.", f"Send {name} as a short name.")
            return str(text).strip()
    return ""


def is_blank(value: Any) -> bool:
    """Return whether ``value`` is null or blank text, which clients send for what they leave out."""
    return value is None or (isinstance(value, str) and not value.strip())


def whole_number(value: Any) -> int | None:
    """Return the whole number that ``value`` is or spells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def next_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the detail of an error that has the call to make next, ``{"next_call": {tool: arguments}}``.

    It is empty for a call that is longer than :data:`MAX_NEXT_CALL` characters.
    """
    try:
        length = len(json.dumps(arguments, ensure_ascii=False))
    except (ValueError, RecursionError):
        return {}
    return {"next_call": {tool: dict(arguments)}} if length <= MAX_NEXT_CALL else {}


def invalid(tool: str, problem: str | Text, next_step: str | Text, **details: Any) -> InvalidArguments:
    """Return the error for an argument of the meta-tool ``tool`` that cannot be used."""
    from toolfold.messages import META_ARGUMENT  # needed for an error only

    return InvalidArguments(META_ARGUMENT.filled(tool=tool, problem=problem), next_step, **details)


def put(tool: str, read: dict[str, Any], name: str, value: Any, given_as: str) -> None:
    """Set an argument in ``read``, which is changed, unless it is there already.

    Raises:
        InvalidArguments: it has another value there.
    """
    if name not in read or is_blank(read[name]):
        read[name] = value
    elif not is_blank(value) and read[name] != value:
        twice = f"{name} is given twice" if given_as == name else f"{quoted(given_as)} and {name} are the same argument"
        known = {key: one for key, one in read.items() if key in TOOLS[tool].arguments}
        following = next_call(tool, known) if tool != "TOOL_CALL" or "tool_name" in known else {}
        raise invalid(tool, f"{twice}, with different values", f"Send {name} once.", **following)


def signature(tool: Tool) -> str:
    """Return the name and the parameters of a tool: ``SMA(symbol, interval, time_period: integer, month?)``."""
    required = tool.parameters.get("required", ())
    types = {name: type_words(tool.parameters, rule) for name, rule in properties(tool.parameters).items()}
    parameters = ", ".join(
        name + ("" if name in required else "?") + ("" if words == ["string"] else f": {'|'.join(words) or 'any'}")
        for name, words in types.items()
    )
    return f"{tool.name}({parameters})"


_MAX_CALL = 600
"""Characters of a call that is written as code."""

_MAX_NESTED = 5
"""Objects and lists in a text that is parsed as Python."""

_CALL_TEXT = re.compile(r"\s*([\w.:/-]+)\s*\((.{1,500})\)\s*;?\s*", re.DOTALL)


def parse_object(value: Any) -> dict[str, Any] | None:
    """Return the object that ``value`` is or spells as JSON, in a fence of Markdown or not; else None."""
    if isinstance(value, dict) or not isinstance(value, str):
        return value if isinstance(value, dict) else None
    text = value.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    for _ in range(2):  # JSON may be encoded twice
        if not text.startswith(("{", '"')):
            return None
        try:
            parsed = load_json(text)
        except (ValueError, RecursionError):
            return _parse_python(text) if text.startswith("{") else None
        if not isinstance(parsed, str):
            return parsed if isinstance(parsed, dict) else None
        text = parsed.strip()
    return None


_MAX_PYTHON = 2000
"""Characters of an object in Python's spelling that are parsed: its parser needs far more memory than that of JSON."""


def _parse_python(text: str) -> dict[str, Any] | None:
    """Return the object that ``text`` spells in Python: ``{'symbol': 'IBM',}``, or ``symbol="IBM", adjusted=True``."""
    if len(text) > _MAX_PYTHON or text.count("{") + text.count("[") > _MAX_NESTED:
        return None
    import ast  # few models send it

    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        if len(call.args) + bool(call.keywords) != 1:
            return None
        words = ((one.arg, one.value) for one in call.keywords)
        named = {name: one.id if isinstance(one, ast.Name) else ast.literal_eval(one) for name, one in words}
        names: list[list[Any]] = [[one.arg for one in call.keywords]]
        names += [[key and ast.dump(key) for key in one.keys] for one in ast.walk(call) if isinstance(one, ast.Dict)]
        if any(len(set(own)) < len(own) for own in names):
            return None  # one of them twice
        parsed: Any = ast.literal_eval(call.args[0]) if call.args else named
        json.dumps(parsed, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return parsed if isinstance(parsed, dict) and all(isinstance(key, str) for key in parsed) else None


def parse_call_text(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return name and arguments of a call that is written as code, ``NAME(symbol="IBM")``; None for other text."""
    found = _CALL_TEXT.fullmatch(text[:_MAX_CALL])
    inner = (parse_object(found[2]) or _parse_python(found[2])) if found and found[2].strip() else None
    return (found[1], inner) if found and inner is not None else None


def json_problem(text: str) -> str:
    """Return why ``text`` is not the JSON text of an object."""
    try:
        load_json(text)
    except RepeatedName as error:
        return f"arguments {error}"
    except json.JSONDecodeError as error:
        return f"arguments is not valid JSON ({error.msg} at character {error.pos})"
    except RecursionError:
        return "arguments is nested too deeply"
    except ValueError:
        return "arguments is not valid JSON"
    return "arguments must be an object, or the JSON text of one"


def _page(value: Any, given: Mapping[str, Any]) -> int | None:
    """Return where a page begins; None where that is not known: pages without ``limit`` end where their tokens do."""
    number = whole_number(value)
    limit = next((one for key, one in given.items() if own_name("TOOL_LIST", key) == "limit"), None)
    length = 0 if number == 1 else whole_number(limit)
    return (number - 1) * length if number is not None and number >= 1 and length is not None else None


def _calls(value: Any, _given: Mapping[str, Any]) -> list[Any] | None:
    """Return the calls that an object is: one, or several under their names."""
    calls = parse_object(value)
    if calls is None:
        return None
    is_named = calls and all(isinstance(call, dict) for call in calls.values()) and "arguments" not in calls
    return [{"id": key, **call} for key, call in calls.items()] if is_named else [calls]


def _known(value: Any, given: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the hash of the one tool that is described, where it comes without its name."""
    name, is_hash = given.get("tool_name"), isinstance(value, str) and re.fullmatch("[0-9a-f]{8}", value)
    return {name: value} if is_hash and isinstance(name, str) else None


def _word(value: Any, _given: Mapping[str, Any]) -> str | None:
    return value if isinstance(value, str) and len(value.split()) == 1 else None


def _columns(value: Any, _given: Mapping[str, Any]) -> Any:
    return ",".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value


def _jmespath(value: Any, _given: Mapping[str, Any]) -> Any:
    is_bare = isinstance(value, str) and not value.strip().lower().startswith("jmespath:")
    return f"jmespath: {value.strip()}" if is_bare else value


def _limit(value: Any, _given: Mapping[str, Any]) -> Any:
    number = whole_number(value)
    return value if number is None else f"limit {number}"


def _offset(value: Any, _given: Mapping[str, Any]) -> str | None:
    number = whole_number(value)
    return None if number is None or number < 0 else f"[{number}:]"


def _order(value: Any, _given: Mapping[str, Any]) -> str | None:
    key = re.fullmatch(_ORDER_BY, value.strip()) if isinstance(value, str) else None
    is_down = key and (key[1] or (key[3] or "").lower() == "desc")
    return f"order by {key[2]}{' desc' if is_down else ''}" if key else None


def _cache(value: Any, _given: Mapping[str, Any]) -> Any:
    from toolfold.execution.argument_values import booleans  # no first response needs it

    return next((not one.value for one in booleans(str(value))), value)


def _true(value: str) -> Callable[[Any, Mapping[str, Any]], str | None]:
    return lambda given, _: value if given in (True, "true") else None


_ORDER_BY = r"(?i)(-?)(?!(?:asc|desc)\w*$)([a-z_]\w*)(?:[ :]+(asc|desc)\w*)?"  # compiled where it is needed
_Convert = Callable[[Any, Mapping[str, Any]], Any]
_CLAUSES: tuple[tuple[str, _Convert], ...] = (
    ("jmespath", _jmespath),
    ("sort sortby orderby", _order),
    ("columns fields", _columns),
    ("offset skip", _offset),
    ("limit maxrows", _limit),
)
"""Other names of ``select``, and what makes a step of it of their value: in the order of the clauses of SQL."""

PLACES = {word: place for place, (words, _) in enumerate(_CLAUSES) for word in words.split()}
"""Other name of ``select`` → its place; the conditions are before all of them."""

_CONVERSIONS: Mapping[tuple[str, str], tuple[str, _Convert]] = {
    ("TOOL_LIST", "page"): ("offset", _page),
    **{("TOOL_LIST", name): ("access", _true("free")) for name in ("free", "freeonly")},
    **{("TOOL_LIST", name): ("access", _true("premium")) for name in ("premium", "premiumonly")},
    ("TOOL_GET", "known"): ("known", _known),
    **{("TOOL_GET", name): ("tool_name", _word) for name in ("query", "q")},
    ("TOOL_BATCH", "calls"): ("calls", _calls),
    ("TOOL_PIPE", "steps"): ("steps", _calls),
    ("TOOL_SCRIPT", "inputs"): ("inputs", lambda value, _: parse_object(value)),
    **{("TOOL_CALL", name): ("select", convert) for names, convert in _CLAUSES for name in names.split()},
    **{("TOOL_CALL", name): ("fresh", _cache) for name in ("cache", "usecache")},
}
"""Meta-tool and argument, or another word as ``fuzzy.normalize`` spells it → the argument it is, and what makes its
value of the one given; None: it means nothing else."""


def converted_argument(tool: str, key: str, value: Any, given: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the argument of a meta-tool that ``key`` means, with its value; ``key`` itself where it means none."""
    name = own_name(tool, key)
    if conversion := _CONVERSIONS.get((tool, name or normalize(key))):
        target, convert = conversion
        converted = value if is_blank(value) else convert(value, given)
        if converted is not None or value is None:
            return target, converted
    if name is not None and isinstance(value, dict) and len(value) == 1:  # {"query": {"text": "gold"}}
        (inner,), type_ = value.values(), TOOLS[tool].arguments[name].schema.get("type")
        is_text = tool in ("TOOL_LIST", "TOOL_GET") and type_ != "object" and isinstance(inner, str)
        value = inner if is_text or type_ == "integer" else value
    return name or key, value


@functools.cache
def meta_tool(name: str) -> Tool:
    """Return a meta-tool as a tool without a source: its arguments are read, checked and corrected as those of any."""
    tool = TOOLS[name]
    rules = {key: rule.schema if rule.reads is None else rule.reads for key, rule in tool.arguments.items()}
    schema: dict[str, Any] = {"type": "object", "properties": rules, "additionalProperties": False}
    if "continue" in rules:
        schema["anyOf"] = [{"required": [next(iter(rules))]}, {"required": ["continue"]}]
    elif tool.required:
        schema["required"] = list(tool.required)
    # Without an argument that it has no place for, a call of several would be another one.
    effect: Effect = "write" if name in COMBINING_TOOLS else "read"
    call = {"blank_allowed": ["query"]}
    blank = Tool("", "", "", "", "", "", (), "free", effect, "", (), schema, "fields: ", {}, {}, call, {}, (), "")
    return blank._replace(name=name, title=tool.title, summary=", ".join(rules), description=tool.description)
