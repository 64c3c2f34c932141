"""``search`` and ``fetch``, as ChatGPT's connectors and deep research define them: over tools, and over their answers.

The id of a result is what ``fetch`` takes: the name of a tool, for its description, or a call of it, for its answer:
``GLOBAL_QUOTE(symbol='IBM')``. A call is offered where the query has a value for each parameter that the tool requires.
No value comes from anywhere else, so that an answer is always about what the query names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as quote_url

from toolfold.catalog.query import MAX_WORDS, UNKNOWN_NAME, is_kind, parse_query
from toolfold.execution.argument_reader import reader_of
from toolfold.fuzzy import normalize
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.definitions import answer_schema, text
from toolfold.meta_tools.result import Result, dumps_compact
from toolfold.meta_tools.tool_get import refusal_of
from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found
from toolfold.text_safety import quoted

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.dispatcher import MetaRequest

_MAX_VALUES = 3
"""Values of a query for one parameter, each of which makes a call."""

_READS = {"readOnlyHint": True, "openWorldHint": True}

DEFINITIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "search",
        "title": "Search tools and their answers",
        "description": (
            "Finds tools by what they return, and answers where the query has all that a tool needs, such as a "
            'ticker: "IBM daily prices", or NAME parameter=value. Results have ids for fetch.'
        ),
        "inputSchema": {"type": "object", "properties": {"query": text("English keywords")}, "required": ["query"]},
        "outputSchema": answer_schema(results="array", error="object"),
        "annotations": _READS,
    },
    {
        "name": "fetch",
        "title": "Fetch a result in full",
        "description": "Returns the answer of a call such as NAME(parameter='value'), or the description of a tool.",
        "inputSchema": {"type": "object", "properties": {"id": text("Of a search result")}, "required": ["id"]},
        "outputSchema": answer_schema(
            id="string", title="string", text="string", url="string", metadata="object", error="object"
        ),
        "annotations": _READS,
    },
)

_GIVEN = re.compile(r"""(\w[\w.\[\]-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s,()]+)""")
"""``symbol=IBM``: a value that the query gives by the name of its parameter."""

_TICKER = re.compile(r"(?<![\w.$-])\$?([A-Z][A-Z0-9.-]{0,9})(?!\w)")
"""A ticker is taken as it is written; a word in small letters may be the name of a company."""

_WORD = re.compile(r"[\w-]+")

_MAX_ID = 600
"""Characters of the arguments in an id: more than any has that a search returns."""


def answer(name: str, request: MetaRequest) -> Result:
    """Return the result of ``search`` or ``fetch``: one JSON, as data and as text.

    Raises:
        CallError: The arguments are not valid, or name no tool.
    """
    parameter, result_of = ("query", _search) if name == "search" else ("id", _fetch)
    given = request.arguments.get(parameter)
    if not isinstance(given, str) or not given.strip():
        raise invalid(name, f"{parameter} must be a text, not {quoted(given)}", f"Send {parameter}.")
    return result_of(given.strip(), request._replace(credentials=request.credentials._replace(reads_only=True)))


def _search(query: str, request: MetaRequest) -> Result:
    listing, catalog = request._replace(arguments={"query": query, "detail": "minimal"}), request.catalog
    found, results = request.tools.handle("TOOL_LIST", listing), list[Mapping[str, str]]()
    for tool in (catalog.get(entry["name"]) for entry in found.structured["tools"]):
        if tool is not None and not refusal_of(catalog, tool):
            calls = [] if tool.needs_approval else _calls(catalog, tool, query)
            results += [_described(tool, id_) for id_ in (*calls, tool.name)]
    return _as_text({"results": results}, found)


def _fetch(id_: str, request: MetaRequest) -> Result:
    catalog, (named, bracket, given) = request.catalog, id_.partition("(")
    tool = catalog.get(find_name(catalog, named) or named)
    if tool is None and (not bracket or find_meta_tool(named)):
        raise tool_not_found(catalog, named)
    if bracket:
        most = request.tools.executor.settings.max_tokens_ceiling
        arguments = {"tool_name": named, "arguments": _arguments(given), "max_tokens": most}
        found = request.tools.handle("TOOL_CALL", request._replace(arguments=arguments))
    else:
        found = request.tools.handle("TOOL_GET", request._replace(arguments={"tool_name": named}))
    if found.is_error or tool is None:
        return found
    preview, notes = found.structured.get("preview"), found.structured.get("notes")
    metadata = {"tool": tool.name, "source": tool.source, "kind": "answer" if bracket else "description"}
    if isinstance(preview, dict):
        metadata["left_out"] = str(preview.get("left_out", ""))
    if notes:
        metadata["notes"] = " ".join(map(str, notes))
    return _as_text({**_described(tool, id_), "text": found.text, "metadata": metadata}, found)


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments in an id, ``symbol='IBM')``.

    Raises:
        InvalidArguments: they are written otherwise.
    """
    try:
        call = ast.parse(f"f({text[:_MAX_ID]}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            arguments = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
            if len(arguments) == len(call.keywords) and json.loads(json.dumps(arguments)) == arguments:
                return arguments
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    raise invalid("fetch", "id is not that of a call", "Send an id as search returned it.")


def _as_text(structured: Mapping[str, Any], found: Result) -> Result:
    return found._replace(structured=structured, text=dumps_compact(structured), blocks=())


def _described(tool: Tool, id_: str) -> dict[str, str]:
    return {"id": id_, "title": f"{id_}: {tool.summary}", "url": f"toolfold://{tool.source}/{quote_url(id_)}"}


def _calls(catalog: Catalog, tool: Tool, query: str) -> Iterator[str]:
    """Yield the calls of ``tool`` for which the query has every value, with what else it names."""
    validator = reader_of(catalog, tool)
    given: dict[str, Any] = {name: value.strip("\"'") for name, value in _GIVEN.findall(query)}
    known = validator.rename(given).arguments
    missing = [name for name in tool.parameters.get("required", ()) if name not in known]
    others = [name for name in validator.properties if name not in (*known, *missing)]
    tickers = [name for name in missing if name in validator.ticker_patterns]
    tickers = tickers or [name for name in others if name in validator.ticker_patterns]
    rest = _GIVEN.sub(" ", query)
    words, named = list(map(normalize, _WORD.findall(rest)[:MAX_WORDS])), _tickers(catalog, tool, rest)
    spelt = {*words, *map("".join, pairwise(words))}
    # The answer of a tool without tickers is not about what the query names.
    calls = [given] if tickers or not named else []
    for name in (*missing, *others):
        values: Sequence[Any] = ()
        if name in tickers:  # which of several takes which ticker, a query does not say
            values = named if len(tickers) == 1 else ()
        elif "enum" in (rule := validator.properties.get(name, {})):
            values = [value for value in rule["enum"] if normalize(str(value)) in spelt]
            if not values and name in missing:  # what is required alone may be written otherwise
                read = (validator.read_value(name, word) for word in words)
                values = [value for value in read if validator.accepts(name, value)][:1]
        if values or name in missing:
            calls = [{**arguments, name: value} for arguments in calls for value in values[:_MAX_VALUES]]
    for arguments in calls:
        resolved = validator.resolve(arguments)
        if not resolved.problems:
            yield f"{tool.name}({', '.join(f'{key}={value!r}' for key, value in resolved.arguments.items())})"


def _tickers(catalog: Catalog, tool: Tool, query: str) -> list[str]:
    """Return the words in capitals that are names and no words of the catalog, of the kinds that ``tool`` is about."""
    parsed, position = parse_query(catalog, query), catalog.position(tool.name)
    kinds = {kind for kind in catalog.synonyms(UNKNOWN_NAME) or () if position in catalog.postings(kind)[::2]}
    found = []
    for ticker in dict.fromkeys(_TICKER.findall(query)):
        word = re.split(r"[.-]", ticker.lower())[0]
        terms = {term.term for term in parsed.terms if term.source_word == word}
        is_name = all(map(is_kind, terms)) if terms else word in parsed.unknown
        if not kinds and any(position in catalog.postings(term)[::2] for term in terms):
            continue  # a name of what the tool serves, such as its country
        if is_name and catalog.position(ticker) is None and (not terms or not kinds or kinds & terms):
            found.append(ticker.rstrip(".-"))
    return found
