"""The skills extension of MCP, ``io.modelcontextprotocol/skills`` (SEP-2640), and skills as resources.

Source: the specification of the extension, for protocol version 2026-07-28. The handshake versions are answered in the
same way, without the hints for caches, which these do not have. Imported by the first request for one of its methods.

A file is read like a call of its skill, so that scopes, limits, approval and the audit log are the same; what is
returned is the file itself, byte for byte, because the client compares it with its digest.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog import skills
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.catalog.skills import Skill, SkillFile
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.protocol.http import Request
    from toolfold.protocol.jsonrpc import Message

__all__ = ["answer"]

CACHE_HINTS: Mapping[str, Any] = {"ttlMs": 3_600_000, "cacheScope": "public"}
"""How long a client may cache a result, as for ``tools/list``. ``resources/directory/read`` has no such hints."""

RESOURCE_NOT_FOUND = -32002
"""The error of ``resources/read`` in the handshake versions; 2026-07-28 has -32602 (SEP-2164)."""

FOLDER_TYPE = "inode/directory"

PAGE_FILES = 1000
"""Files of the skills on one page of a list: about 200 kB of JSON. A page has at least one skill."""


def answer(
    tools: MetaTools, request: Request, message: Message, log_fields: dict[str, str | int | float], *, stateless: bool
) -> dict[str, Any]:
    """Return the result of one of the methods about skills.

    Args:
        tools: the meta-tools, whose catalog has skills.
        request: the HTTP request; one without headers for a message that came in another way.
        message: the request.
        log_fields: what the log says of it.
        stateless: whether it is of a stateless version.

    Raises:
        JsonRpcError: the parameters are wrong, or the file may not be read.
        InsufficientScope: the access token of the caller does not allow this.
    """
    credentials = request.credentials()
    credentials.require_scopes("tools:read")
    catalog, params = tools.catalog(), message.params
    if message.method == "resources/read":
        not_found = versions.INVALID_PARAMS if stateless else RESOURCE_NOT_FOUND
        skill, file = _find(catalog, params, not_found)
        _check_call(tools, skill, file, credentials, request, log_fields)
        contents = {"uri": params["uri"], "mimeType": file.media_type, **_content(catalog, file)}
        result: dict[str, Any] = {"contents": [contents]}
    else:
        result = _LISTS[message.method](catalog, params)
    return {**result, **CACHE_HINTS} if stateless and message.method != "resources/directory/read" else result


def list_skills(catalog: Catalog, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``skills/list``.

    Raises:
        JsonRpcError: the cursor is not one of this server.
    """
    page, following = _page(catalog, params)
    return {"skills": [_entry(skill) for skill in page], **following}


def get_skill(catalog: Catalog, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``skills/get``.

    Raises:
        JsonRpcError: there is no skill at the URI.
    """
    uri = _uri(params)
    skill = skills.skill_at(catalog, uri)
    if skill is None:
        raise JsonRpcError(versions.INVALID_PARAMS, f"No skill is served at {uri[:200]}; skills/list has the URIs.")
    return {"skill": _entry(skill)}


def list_resources(catalog: Catalog, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``resources/list``: every file of every skill.

    Raises:
        JsonRpcError: the cursor is not one of this server.
    """
    page, following = _page(catalog, params)
    return {"resources": [_resource(skill, file) for skill in page for file in skill.files.values()], **following}


def read_directory(catalog: Catalog, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``resources/directory/read``: the files and folders directly in a folder of a skill.

    Raises:
        JsonRpcError: the URI is not that of a folder.
    """
    uri = _uri(params)
    if params.get("cursor") is not None:
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


def _find(catalog: Catalog, params: Mapping[str, Any], not_found: int) -> tuple[Skill, SkillFile]:
    """Return the skill and the file that a ``resources/read`` names.

    Raises:
        JsonRpcError: no skill has such a file.
    """
    uri = _uri(params)
    skill, path = skills.find_file(catalog, uri) or (None, "")
    file = None if skill is None else skill.files.get(path)
    if skill is None or file is None:
        message = f"There is no resource {uri[:200]}; resources/list has the URIs."
        raise JsonRpcError(not_found, message, {"uri": uri[:2000]})
    return skill, file


def _check_call(
    tools: MetaTools,
    skill: Skill,
    file: SkillFile,
    credentials: RequestCredentials,
    request: Request,
    log_fields: dict[str, str | int | float],
) -> None:
    """Call the skill for the file, to apply what applies to calls: scopes, limits, approval, logs.

    Raises:
        JsonRpcError: the call failed; ``data`` is its error.
        InsufficientScope: the access token of the caller does not allow the call.
    """
    arguments = {} if file.path == skills.SKILL_FILE else {"file": file.path}
    call = {"tool_name": skill.tool, "arguments": arguments}
    done = tools.call("TOOL_CALL", call, credentials, request.deadline, whole=True)
    log_fields["inner_tool"] = skill.tool
    if done.is_error:
        error = done.structured["error"]
        log_fields["error"] = error["code"]
        data = {key: error[key] for key in ("code", "message", "suggestion")}
        raise JsonRpcError(versions.INTERNAL_ERROR, f"{error['code']}: {error['message']}", data)


def _content(catalog: Catalog, file: SkillFile) -> Mapping[str, str]:
    content = catalog.file(file.sha256)
    if content is None:
        raise JsonRpcError(
            versions.INTERNAL_ERROR, "The catalog lacks this file; the log of its publication says more."
        )
    return content


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
    page: list[Skill] = []
    files = 0
    for skill in skills.all_skills(catalog, _decode(params.get("cursor"))):
        files += len(skill.files)
        if page and files > PAGE_FILES:
            return page, {"nextCursor": _encode(page[-1].uri)}
        page.append(skill)
    return page, {}


def _encode(uri: str) -> str:
    return urlsafe_b64encode(uri.encode()).decode().rstrip("=")


def _decode(cursor: Any) -> str:
    if cursor is None:
        return ""
    try:
        uri = urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}").decode() if isinstance(cursor, str) else ""
    except (binascii.Error, ValueError):
        uri = ""
    if not uri.startswith("skill://") or _encode(uri) != cursor:
        raise JsonRpcError(versions.INVALID_PARAMS, "Unknown cursor: start again without one.")
    return uri


_LISTS: Mapping[str, Callable[[Catalog, Mapping[str, Any]], dict[str, Any]]] = {
    "skills/list": list_skills,
    "skills/get": get_skill,
    "resources/list": list_resources,
    "resources/directory/read": read_directory,
}
"""Method → what returns its result from the catalog alone."""
