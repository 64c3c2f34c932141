"""The JSON resources of the page: ``ui/api/NAME`` is answered by a function ``respond_NAME``.

web/API.md has an example of each.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from toolfold.catalog.model import Catalog
from toolfold.catalog.search import closest_names, search
from toolfold.client_call import iso_time
from toolfold.execution.approval import CannotDecide, WaitingCall
from toolfold.explorer.page import ApiProblem, Explorer, invalid, json_answer, read_integer, read_json, read_text
from toolfold.mcp_clients import endpoint_snippets, own_command
from toolfold.meta_tools.tool_get import LEVELS, refusal_of, tool_get
from toolfold.protocol.http import Request, Response
from toolfold.results import tokens
from toolfold.text_safety import escape_unsafe
from toolfold.version import __version__


def _fields(item: object, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def respond_start(explorer: Explorer, request: Request) -> Response:
    """Return the version, where clients connect, and what the three tools save here.

    That is: the tokens of ``tools/list`` as it answers here, less than those of a list of all tools.
    """
    catalog = explorer.catalog()
    counts, secrets = catalog.counts("source"), explorer.app.executor.services.secret_provider
    snippets = endpoint_snippets(explorer.endpoint, own_command())
    definitions = tokens.count(explorer.app.server.tools_of("").list_page().tools.decode())
    base = catalog.base
    every = base.definition_tokens * len(catalog) // len(base) if len(base) else 0  # of a part, its share
    return json_answer(
        {
            "version": __version__,
            "endpoint": explorer.endpoint,
            "catalog": {
                "hash": catalog.fingerprint,
                "tools": len(catalog),
                "sources": [
                    {
                        **_fields(source, "id", "title", "kind"),
                        "tools": counts.get(source.id, 0),
                        "needs_key": source.auth is not None,
                        "has_key": secrets.uses_own and bool(secrets.setting_of(source)),
                    }
                    for source in catalog.sources
                ],
            },
            "tokens": {
                "definitions": definitions,
                "all_definitions": every,
                "saved_percent": round(100 * (1 - definitions / every), 1) if every else 0.0,
            },
            "clients": [{**snippet._asdict(), "file": snippet.file or None} for snippet in snippets],
        }
    )


def respond_catalog(explorer: Explorer, request: Request) -> Response:
    """Return every source with its categories, and every tool in the order of the listing."""
    catalog = explorer.catalog()
    sources = {category.name: category.source for category in catalog.categories}
    positions, paid = catalog.listed, _paid_sources(catalog)
    catalog.prefetch_summaries(positions)
    return json_answer(
        {
            "hash": catalog.fingerprint,
            "sources": [
                {
                    **_fields(source, "id", "title", "kind", "description"),
                    "categories": [
                        {"id": category.name, "title": category.title}
                        for category in catalog.categories
                        if category.source == source.id
                    ],
                }
                for source in catalog.sources
            ],
            "tools": [
                {
                    **_fields(line, "name", "category", "summary", "effect"),
                    "source": sources.get(line.category, ""),
                    "tier": line.access if sources.get(line.category, "") in paid else "",
                }
                for line in map(catalog.summary, positions)
            ],
        }
    )


def _paid_sources(catalog: Catalog) -> frozenset[str]:
    """Return the ids of the sources that have a tool which is not free, also one that is not exposed here.

    A catalog calls a tool free where no source says otherwise.
    """
    base = catalog.base
    paid = {at for value in base.counts("access") if value != "free" for at in base.positions("access", value)}
    sources = base.counts("source") if paid else ()
    return frozenset(id_ for id_ in sources if not paid.isdisjoint(base.positions("source", id_)))


MAX_QUERY_CHARS = 2000
DEFAULT_LIMIT, MAX_LIMIT = 50, 200


def respond_search(explorer: Explorer, request: Request) -> Response:
    """Return the tools that match the request, best first."""
    query = read_text(request, "q", MAX_QUERY_CHARS)
    limit = min(read_integer(request, "limit", DEFAULT_LIMIT, minimum=1), MAX_LIMIT)
    filters = {field: read_text(request, field) for field in ("source", "category")}
    catalog = explorer.catalog()
    started = time.perf_counter()
    chosen = [frozenset(catalog.positions(field, value)) for field, value in filters.items() if value]
    candidates = frozenset.intersection(*chosen) if chosen else None
    found = search(catalog, query, candidates, is_whole=True)
    first = [hit.position for hit in found.hits[:limit]]
    catalog.prefetch_summaries(first)
    return json_answer(
        {
            "query": query,
            "ms": round((time.perf_counter() - started) * 1000, 2),
            "hits": [catalog.summary(position).name for position in first],
            "total": len(found.hits),
            "best": found.top_ties,
            "confidence": found.fit.name.lower(),
        }
    )


_OUTLINE = re.compile(r"(?:rows|fields|[\w.]+(?:, [\w.]+)*): ([\w.%() /+,-]+)")
"""A part of what the catalog says of an answer; see ``build.emitter``. Prose of imported tools has another form."""


def respond_tool(explorer: Explorer, request: Request) -> Response:
    """Return a tool with its schema, example, columns and relations, and what TOOL_GET says at each detail level."""
    name = read_text(request, "name", is_required=True)
    catalog = explorer.catalog()
    tool = catalog.get(name)
    if tool is None:
        closest = closest_names(catalog, name)
        step = f"Did you mean {' or '.join(closest)}?" if closest else "The page Catalog lists all tools."
        raise ApiProblem(404, "TOOL_NOT_FOUND", f"No tool is called {name[:80]!a}.", step)
    texts = {level: tool_get(catalog, {"tool_name": tool.name, "detail": level}).text for level in LEVELS}
    outline = _OUTLINE.fullmatch(tool.returns.split("; ")[0])
    columns = [] if outline is None else outline[1].split(",")  # by the names that select takes
    relations = [{"kind": kind, "name": other, "via": via[0] if via else ""} for other, kind, *via in tool.relations]
    relations += [{"kind": "use_instead", "name": other, "via": need} for need, other in tool.use_instead.items()]
    relations += [{"kind": "see_also", "name": other, "via": ""} for other in tool.see_also]  # mentioned only
    return json_answer(
        {
            **_fields(tool, "name", "title", "source", "category", "effect", "summary", "description", "tags"),
            **_fields(tool, "returns", "needs_approval", "example"),
            "tier": tool.access if tool.source in _paid_sources(catalog) else "",
            "refused": refusal_of(catalog, tool) or None,
            "schema": tool.parameters,
            "columns": columns,
            "relations": relations,
            "texts": {level: {"text": text, "tokens": tokens.count(text)} for level, text in texts.items()},
        }
    )


MAX_TEXTS = 100


def respond_tokens(explorer: Explorer, request: Request) -> Response:
    """Return the number of tokens of each text, in the order of the texts."""
    texts = read_json(request).get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise invalid("texts must be a list of texts.", 'Send {"texts": ["…"]}.')
    if len(texts) > MAX_TEXTS:
        raise invalid(f"There are {len(texts):,} texts.", f"Send at most {MAX_TEXTS}.")
    return json_answer({"tokens": [tokens.count(text) for text in texts]})


def respond_watch(explorer: Explorer, request: Request) -> Response:
    """Return what is new after the number ``after``, and the state of all else."""
    return json_answer(explorer.feed.snapshot(read_integer(request, "after", 0)))


_CALL_ID = re.compile(r"[0-9a-f]{16}")
_NOT_LISTED = "Waiting calls in DynamoDB are not listed. Decide about one by its token: toolfold approve TOKEN."
_AGAIN = "Reload the list; if the call is still wanted, let the client make it again."


def respond_approvals(explorer: Explorer, request: Request) -> Response:
    """Return the waiting calls, or record a decision about one."""
    return _decide(explorer, request) if request.method == "POST" else _list_waiting(explorer)


def _list_waiting(explorer: Explorer) -> Response:
    mode, waiting, note = explorer.app.settings.approve, [], ""
    if mode == "human" and explorer.app.settings.cache_table:
        note = _NOT_LISTED
    elif mode == "human":
        waiting = explorer.approval_desk.waiting()
    return json_answer({"mode": mode, "waiting": [_describe_call(call) for call in waiting], "note": note})


def _describe_call(call: WaitingCall) -> dict[str, Any]:
    """Return all that identifies a call. The texts of its arguments are exact: a browser rounds large numbers."""
    terms = call.terms
    return {
        "id": call.id,
        "tool": escape_unsafe(terms.tool),
        "source": escape_unsafe(terms.source),
        "endpoint": escape_unsafe(_without_credentials(terms.endpoint)),
        "effect": escape_unsafe(call.record.reason),
        "arguments_text": _exact_texts(terms.arguments),
        "caller": escape_unsafe(terms.principal),
        "expires_at": iso_time(call.record.expires_at),
    }


def _exact_texts(arguments: str) -> dict[str, str]:
    """Return name → value as JSON, its numbers with the digits that they have in the JSON object ``arguments``."""
    mark = os.urandom(8).hex()  # no text of a caller has it
    keep = f"{mark}{{}}{mark}".format
    values: dict[str, Any] = json.loads(arguments, parse_int=keep, parse_float=keep)
    numbers = re.compile(f'"{mark}(.*?){mark}"')
    return {name: numbers.sub(r"\1", json.dumps(value, ensure_ascii=False, indent=2)) for name, value in values.items()}


def _without_credentials(url: str) -> str:
    """Return a URL without what stands before ``@`` in its host, and without a query."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _decide(explorer: Explorer, request: Request) -> Response:
    body = read_json(request)
    id_, approve = body.get("id"), body.get("approve")
    if not isinstance(id_, str) or _CALL_ID.fullmatch(id_) is None:
        raise invalid("id must be the id of a waiting call.", "Take one of the list.")
    if not isinstance(approve, bool):
        raise invalid("approve must be true or false.", 'Send {"id": "…", "approve": true}.')
    if explorer.app.settings.approve != "human":
        raise ApiProblem(409, "APPROVAL_NOT_PENDING", "No person decides here.", "Set TOOLFOLD_APPROVE=human for that.")
    desk = explorer.approval_desk
    try:
        desk.decide(desk.find_waiting(id_), approve=approve)
    except CannotDecide as error:
        raise ApiProblem(409, "APPROVAL_NOT_PENDING", str(error), _AGAIN) from None
    return json_answer({"id": id_, "state": "approved" if approve else "denied"})


VIEWS: Mapping[str, Callable[[Explorer, Request], Response]] = {
    "start": respond_start,
    "catalog": respond_catalog,
    "search": respond_search,
    "tool": respond_tool,
    "tokens": respond_tokens,
    "watch": respond_watch,
    "approvals": respond_approvals,
}
"""Name of a resource → what returns its answer."""

METHODS: Mapping[str, tuple[str, ...]] = {"tokens": ("POST",), "approvals": ("GET", "HEAD", "POST")}
"""Name → methods of the resources that are not just read."""
