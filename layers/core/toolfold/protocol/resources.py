"""What is read of the server beside its tools: the app that shows answers, and the skills of a catalog.

The app (MCP Apps, SEP-1865) is an answer as chart and table, in the window of a client; ``make ui`` builds it from
``web/src/mcp-app``. It is not in ``resources/list``, as the extension allows for what tools name.

Skills have methods of their own, ``io.modelcontextprotocol/skills`` (SEP-2640), and are resources. The extension is of
2026-07-28; the handshake versions are answered in the same way, without the hints for caches, which these do not have.
A file is read like a call of its skill, so that scopes, limits, approval and the audit log are the same; what is
returned is the file itself, byte for byte, because the client compares it with its digest.

Imported by the first request for one of these methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog import skills
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.catalog.skills import Skill, SkillFile
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.protocol.http import Exchange

PAGE_FILES = 1000
"""Files of the skills on one page of a list: about 200 kB of JSON. A page has at least one skill."""

_EMPTY_LISTS: Mapping[str, str] = {
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Method that lists what the server does not offer → the member of its result. Some clients ask although nothing is
declared."""

_ABOUT_ONE = ("skills/get", "resources/read")


def answer(tools: MetaTools, exchange: Exchange) -> dict[str, Any]:
    """Return the result of a method about resources or skills.

    Raises:
        JsonRpcError: the method is of none of these, its parameters are wrong, or the file may not be read.
        InsufficientScope: the access token of the caller does not allow this.
    """
    method, params = exchange.message.method, exchange.message.params
    uri, cursor = params.get("uri"), params.get("cursor")
    if method == "resources/read" and uri == versions.APP_URI:
        return _read_app(exchange)
    is_list, is_one = method in ("skills/list", "resources/list"), method in _ABOUT_ONE
    if not tools.has_skills() or not (is_list or is_one):
        if method not in _EMPTY_LISTS:
            raise JsonRpcError(versions.METHOD_NOT_FOUND, f"Unknown method {method[:64]!r}.")
        if cursor is not None:
            raise JsonRpcError(versions.INVALID_PARAMS, "Unknown cursor: the list has a single page.")
        return {_EMPTY_LISTS[method]: []}
    exchange.request.credentials().require_scopes("tools:read")
    if is_one:
        return _answer_about_one(tools, exchange, uri)
    page, following = _page(tools.catalog(), cursor)
    if method == "skills/list":
        return {"skills": [_entry(skill) for skill in page], **following}
    return {"resources": [_resource(skill, *item) for skill in page for item in skill.files.items()], **following}


def _read_app(exchange: Exchange) -> dict[str, Any]:
    try:
        with open(versions.APP_FILE, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        code, data = versions.RESOURCE_NOT_FOUND[exchange.stateless], {"uri": versions.APP_URI}
        raise JsonRpcError(code, "The app is not built: `make ui` builds it.", data) from None
    # Without "csp", clients allow no connection to any host.
    shown = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}
    return {"contents": [{"uri": versions.APP_URI, "mimeType": versions.APP_TYPE, "text": text, "_meta": shown}]}


def _answer_about_one(tools: MetaTools, exchange: Exchange, uri: object) -> dict[str, Any]:
    """Return the result of a method about one skill or file."""
    if not isinstance(uri, str) or not uri:
        raise JsonRpcError(versions.INVALID_PARAMS, "uri must be the URI of a resource, such as skill://…/SKILL.md.")
    method, catalog = exchange.message.method, tools.catalog()
    if method == "skills/get":
        if (found := skills.skill_at(catalog, uri)) is not None:
            return {"skill": _entry(found)}
        raise JsonRpcError(versions.INVALID_PARAMS, f"No skill is served at {uri[:200]}; skills/list has the URIs.")
    skill, path = skills.find_file(catalog, uri) or (None, "")
    file = None if skill is None else skill.files.get(path)
    if skill is None or file is None:
        problem = f"There is no resource {uri[:200]}; resources/list has the URIs."
        raise JsonRpcError(versions.RESOURCE_NOT_FOUND[exchange.stateless], problem, {"uri": uri[:2000]})
    # The skill is called for the file, to apply what applies to calls.
    call = {"tool_name": skill.tool, "arguments": {} if path == skills.SKILL_FILE else {"file": path}}
    request = exchange.request
    done = tools.call("TOOL_CALL", call, request.credentials(), request.deadline, whole=True)
    exchange.log_fields["inner_tool"] = skill.tool
    if done.is_error:
        error = done.structured["error"]
        exchange.log_fields["error"] = error["code"]
        data = {key: error[key] for key in ("code", "message", "suggestion")}
        raise JsonRpcError(versions.INTERNAL_ERROR, f"{error['code']}: {error['message']}", data)
    content = catalog.file(file.sha256)
    if content is None:
        problem = "The catalog lacks this file; the log of its publication says more."
        raise JsonRpcError(versions.INTERNAL_ERROR, problem)
    return {"contents": [{"uri": uri, "mimeType": file.media_type, **content}]}


def _entry(skill: Skill) -> dict[str, Any]:
    """Return the ``Skill`` of the extension. Its own SKILL.md comes first."""
    files = sorted(skill.files.values(), key=lambda file: file.path != skills.SKILL_FILE)
    return {
        "uri": skill.uri,
        "frontmatter": skill.front_matter,
        "resources": [
            {"uri": skill.uri_of(file.path), "digest": f"sha256:{file.sha256}", "size": file.size} for file in files
        ],
    }


def _resource(skill: Skill, path: str, file: SkillFile) -> dict[str, Any]:
    described = {"uri": skill.uri_of(path), "name": path.rpartition("/")[2]}
    if path == skills.SKILL_FILE:
        described |= {key: skill.front_matter[key] for key in ("name", "description")}
    return {**described, "mimeType": file.media_type, "size": file.size}


def _page(catalog: Catalog, cursor: object) -> tuple[list[Skill], dict[str, str]]:
    """Return the skills of one page, and ``nextCursor`` where there are more.

    The cursor is the URI of the last skill of the page, so that it stays valid when the catalog changes.
    """
    if cursor is not None and not (isinstance(cursor, str) and cursor.startswith("skill://")):
        raise JsonRpcError(versions.INVALID_PARAMS, "Unknown cursor: start again without one.")
    page: list[Skill] = []
    files = 0
    for skill in skills.all_skills(catalog, cursor or ""):
        files += len(skill.files)
        if page and files > PAGE_FILES:
            return page, {"nextCursor": page[-1].uri}
        page.append(skill)
    return page, {}
