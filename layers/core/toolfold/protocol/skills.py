"""The skills extension of MCP, ``io.modelcontextprotocol/skills`` (SEP-2640), and skills as resources.

Source: the specification of the extension, for protocol version 2026-07-28. The handshake versions are answered in the
same way, without the hints for caches, which these do not have. Imported by the first request for one of its methods.

A file is read like a call of its skill, so that scopes, limits, approval and the audit log are the same; what is
returned is the file itself, byte for byte, because the client compares it with its digest.
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
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.protocol.http import Exchange

FOLDER_TYPE = "inode/directory"

PAGE_FILES = 1000
"""Files of the skills on one page of a list: about 200 kB of JSON. A page has at least one skill."""


def answer(tools: MetaTools, exchange: Exchange) -> dict[str, Any]:
    """Return the result of one of the methods about skills, by meta-tools whose catalog has some.

    Raises:
        JsonRpcError: the parameters are wrong, or the file may not be read.
        InsufficientScope: the access token of the caller does not allow this.
    """
    credentials, message = exchange.request.credentials(), exchange.message
    credentials.require_scopes("tools:read")
    catalog, params = tools.catalog(), message.params
    if message.method in ("skills/list", "resources/list"):
        page, following = _page(catalog, params)
        if message.method == "skills/list":
            return {"skills": [_entry(skill) for skill in page], **following}
        return {"resources": [_resource(skill, file) for skill in page for file in skill.files.values()], **following}
    uri = _uri(params)
    if message.method == "skills/get":
        found = skills.skill_at(catalog, uri)
        if found is None:
            problem = f"No skill is served at {uri[:200]}; skills/list has the URIs."
            raise JsonRpcError(versions.INVALID_PARAMS, problem)
        return {"skill": _entry(found)}
    if message.method == "resources/directory/read":
        return _read_directory(catalog, uri, params.get("cursor"))
    skill, path = skills.find_file(catalog, uri) or (None, "")
    file = None if skill is None else skill.files.get(path)
    if skill is None or file is None:
        problem = f"There is no resource {uri[:200]}; resources/list has the URIs."
        raise JsonRpcError(versions.RESOURCE_NOT_FOUND[exchange.stateless], problem, {"uri": uri[:2000]})
    _check_call(tools, skill, file, credentials, exchange)
    content = catalog.file(file.sha256)
    if content is None:
        problem = "The catalog lacks this file; the log of its publication says more."
        raise JsonRpcError(versions.INTERNAL_ERROR, problem)
    return {"contents": [{"uri": uri, "mimeType": file.media_type, **content}]}


def _read_directory(catalog: Catalog, uri: str, cursor: object) -> dict[str, Any]:
    if cursor is not None:
        raise JsonRpcError(versions.INVALID_PARAMS, "Unknown cursor: a folder has a single page.")
    skill, path = skills.find_file(catalog, uri) or (None, "")
    children = [] if skill is None else skill.children(path)
    if skill is None or not children:
        is_file = skill is not None and path in skill.files
        problem = "is a file, not a directory resource" if is_file else "is not a directory resource of this server"
        raise JsonRpcError(versions.INVALID_PARAMS, f"{uri[:200]} {problem}.")
    return {
        "resources": [
            {"uri": skill.uri_of(child), "name": child.rpartition("/")[2], "mimeType": FOLDER_TYPE}
            if file is None
            else _resource(skill, file)
            for child, file in children
        ]
    }


def _check_call(
    tools: MetaTools, skill: Skill, file: SkillFile, credentials: RequestCredentials, exchange: Exchange
) -> None:
    """Call the skill for the file, to apply what applies to calls: scopes, limits, approval, logs.

    Raises:
        JsonRpcError: the call failed; ``data`` is its error.
        InsufficientScope: the access token of the caller does not allow the call.
    """
    arguments = {} if file.path == skills.SKILL_FILE else {"file": file.path}
    call = {"tool_name": skill.tool, "arguments": arguments}
    done = tools.call("TOOL_CALL", call, credentials, exchange.request.deadline, whole=True)
    exchange.log_fields["inner_tool"] = skill.tool
    if done.is_error:
        error = done.structured["error"]
        exchange.log_fields["error"] = error["code"]
        data = {key: error[key] for key in ("code", "message", "suggestion")}
        raise JsonRpcError(versions.INTERNAL_ERROR, f"{error['code']}: {error['message']}", data)


def _uri(params: Mapping[str, Any]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri:
        raise JsonRpcError(versions.INVALID_PARAMS, "uri must be the URI of a resource, such as skill://…/SKILL.md.")
    return uri


def _entry(skill: Skill) -> dict[str, Any]:
    """Return the ``Skill`` of the extension. Its own SKILL.md comes first."""
    own = skill.files[skills.SKILL_FILE]
    files = [own, *(file for file in skill.files.values() if file is not own)]
    return {
        "uri": skill.uri,
        "frontmatter": skill.front_matter,
        "resources": [
            {"uri": skill.uri_of(file.path), "digest": f"sha256:{file.sha256}", "size": file.size} for file in files
        ],
    }


def _resource(skill: Skill, file: SkillFile) -> dict[str, Any]:
    if file.path == skills.SKILL_FILE:
        described = {"name": skill.front_matter["name"], "description": skill.front_matter["description"]}
    else:
        described = {"name": file.path.rpartition("/")[2]}
    return {"uri": skill.uri_of(file.path), **described, "mimeType": file.media_type, "size": file.size}


def _page(catalog: Catalog, params: Mapping[str, Any]) -> tuple[list[Skill], dict[str, str]]:
    """Return the skills of one page, and ``nextCursor`` where there are more.

    The cursor is the URI of the last skill of the page, so that it stays valid when the catalog changes.
    """
    cursor = params.get("cursor")
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
