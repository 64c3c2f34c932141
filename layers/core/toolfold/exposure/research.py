"""``search`` and ``fetch``, as ChatGPT's connectors and deep research define them: over tools, and over their answers.

The id of a result is what ``fetch`` takes: the name of a tool, for its description, or a call of it, for its answer:
``GLOBAL_QUOTE(symbol='IBM')``. A call is offered where the query has a value for each parameter that the tool requires.
No value comes from anywhere else, so that an answer is always about what the query names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
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

_MAX_VALUES, _MAX_CALLS = 3, 27
"""Values of a query for one parameter, each of which makes a call, and calls of one tool."""

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

_GIVEN = re.compile(
    r"""(?<![\w.\[\]-])(\w[\w.\[\]-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s,()[{}][^\s,(){}]*)|\[([^][]*)\])"""
)
"""``symbol=IBM``: a value that a query or an id gives by the name of its parameter."""

_TICKER = re.compile(r"(?<![\w.$-])\$?([A-Z][A-Z0-9.-]{0,14})(?!\w)")
"""A ticker is taken as it is written; a word in small letters may be the name of a company."""

_MAX_CHARS = 2000
"""Characters of a query or an id."""

_WORD = re.compile(r"[\w-]+")


def answer(name: str, request: MetaRequest) -> Result:
    """Return the result of ``search`` or ``fetch``: one JSON, as data and as text.

    Raises:
        CallError: The arguments are not valid, or name no tool.
    """
    parameter, result_of = ("query", _search) if name == "search" else ("id", _fetch)
    given = request.arguments.get(parameter)
    if not isinstance(given, str) or not given.strip() or len(given) > _MAX_CHARS:
        raise invalid(name, f"{parameter} must be a text, not {quoted(given)}", f"Send {parameter}, in few words.")
    return result_of(given.strip(), request._replace(credentials=request.credentials._replace(reads_only=True)))


def _search(query: str, request: MetaRequest) -> Result:
    listing, catalog = request._replace(arguments={"query": query, "detail": "minimal"}), request.catalog
    found, results = request.tools.handle("TOOL_LIST", listing), list[Mapping[str, str]]()
    names = _names(catalog, _GIVEN.sub(" ", query))
    for tool in (catalog.get(entry["name"]) for entry in found.structured["tools"]):
        if tool is not None and not refusal_of(catalog, tool):
            calls = [] if tool.needs_approval else _calls(catalog, tool, query, names)
            results += [_described(tool, id_) for id_ in (*calls, tool.name)]
    return _as_text({"results": results}, found)


def _fetch(id_: str, request: MetaRequest) -> Result:
    catalog, (named, bracket, given) = request.catalog, id_.partition("(")
    tool = catalog.get(find_name(catalog, named) or named)
    if tool is None and (not bracket or find_meta_tool(named)):
        raise tool_not_found(catalog, named)
    if _GIVEN.sub("", given).strip(" ,)") or len(_arguments(given)) < len(_GIVEN.findall(given)):
        raise invalid("fetch", "id is not that of a call", "Send an id as search returned it.")
    if bracket:
        most = request.tools.executor.settings.max_tokens_ceiling
        arguments = {"tool_name": named, "arguments": _arguments(given), "max_tokens": most}
        found = request.tools.handle("TOOL_CALL", request._replace(arguments=arguments))
    else:
        found = request.tools.handle("TOOL_GET", request._replace(arguments={"tool_name": named}))
    if found.is_error or tool is None:
        return found
    metadata = {"tool": tool.name, "source": tool.source, "kind": "answer" if bracket else "description"}
    return _as_text({**_described(tool, id_), "text": found.text, "metadata": metadata}, found)


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments in an id, ``symbol='IBM')``, or in a query, which has other words as well."""
    return {
        name: [one.strip(" \"'") for one in listed.split(",")] if listed else "".join(value)
        for name, *value, listed in _GIVEN.findall(text)
    }


def _as_text(structured: Mapping[str, Any], found: Result) -> Result:
    return found._replace(structured=structured, text=dumps_compact(structured), blocks=())


def _described(tool: Tool, id_: str) -> dict[str, str]:
    return {"id": id_, "title": f"{id_}: {tool.summary}", "url": f"toolfold://{tool.source}/{quote_url(id_)}"}


def _names(catalog: Catalog, query: str) -> Mapping[str, Set[str]]:
    """Return the words in capitals that are names and no words of the catalog, each with its kinds."""
    parsed, found = parse_query(catalog, query), dict[str, Set[str]]()
    for name in _TICKER.findall(query):
        word = re.split(r"[.-]", name.lower())[0]
        kinds = {term.term for term in parsed.terms if term.source_word == word}
        if (all(map(is_kind, kinds)) if kinds else word in parsed.unknown) and catalog.position(name) is None:
            found[name.rstrip(".-")] = kinds
    return found


def _calls(catalog: Catalog, tool: Tool, query: str, names: Mapping[str, Set[str]]) -> Iterator[str]:
    """Yield the calls of ``tool`` for which the query has every value, with what else it names."""
    reader, position, given = reader_of(catalog, tool), catalog.position(tool.name), _arguments(query)
    required = tool.parameters.get("required", ())
    known = reader.rename(given).arguments
    free = [name for name in dict.fromkeys((*required, *reader.properties)) if name not in known]
    takes_names = [name for name in free if name in reader.ticker_patterns]
    takes_names = [name for name in takes_names if name in required] or takes_names
    about = {kind for kind in catalog.synonyms(UNKNOWN_NAME) or () if position in catalog.postings(kind)[::2]}
    own = [name for name, kinds in names.items() if not (kinds and about) or about & kinds]
    words = list(map(normalize, _WORD.findall(_GIVEN.sub(" ", query))[:MAX_WORDS]))
    spelt = {*words, *map("".join, pairwise(words))}
    # The answer of a tool that takes no names is not about what the query names.
    calls = [given] if takes_names or not own else []
    for name in free:
        values = [one for one in reader.properties.get(name, {}).get("enum", ()) if normalize(str(one)) in spelt]
        if name in takes_names:  # which of several takes which name, a query does not say
            values = own if len(takes_names) == 1 else []
        if values or name in required:
            made = [{**arguments, name: value} for arguments in calls for value in values[:_MAX_VALUES]]
            calls = made[:_MAX_CALLS]
    for arguments in calls:
        resolved = reader.resolve(arguments)
        written = ", ".join(f"{key}={value!r}" for key, value in resolved.arguments.items())
        if not resolved.problems and _arguments(written) == {key: str(one) for key, one in resolved.arguments.items()}:
            yield f"{tool.name}({written})"
