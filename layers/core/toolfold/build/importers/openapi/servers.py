"""Choose the URL that the calls of a source are sent to, among the servers of its document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from toolfold.build.importers.openapi.document import DocumentError
from toolfold.build.importers.openapi.schema_parts import dicts_in
from toolfold.build.yaml_loader import Location
from toolfold.catalog.text_checks import host_of

_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
_MAX_SERVERS = 50
_SET_BASE_URL = "set base_url in source.yaml"


def choose_server(listed: Any, at: Location, document_url: str, variables: Mapping[str, str]) -> str:
    """Return the first of the ``listed`` servers that calls can be sent to, without a slash at its end.

    Args:
        listed: The value of ``servers``.
        at: Where it is in the document.
        document_url: Where the document was fetched from, to which a relative URL relates; may be empty.
        variables: Values of variables that replace the defaults.

    Raises:
        DocumentError: None of them is an https URL, or an http URL of this machine.
    """
    refusals: list[str] = []
    for server in listed[:_MAX_SERVERS] if isinstance(listed, list) else []:
        if not isinstance(server, dict) or not isinstance(server.get("url"), str):
            refusals.append("a server has no url")
            continue
        url = _substituted(server, variables, refusals)
        if url is None:
            continue
        if _scheme(url) == "" and document_url:
            url = urljoin(document_url, url)
        if refusal := _refusal(url):
            refusals.append(refusal)
        else:
            return url.partition("#")[0].partition("?")[0].rstrip("/")
    raise DocumentError(at, "; ".join(dict.fromkeys(refusals)) or f"has no server; {_SET_BASE_URL}")


def check_variables(document: Mapping[str, Any], variables: Mapping[str, str]) -> None:
    """Check that each of ``variables`` is in a URL of a server of ``document``, of one of its paths or operations.

    Raises:
        DocumentError: No server has the variable.
    """
    paths = document.get("paths")
    items = dicts_in(list(paths.values())) if isinstance(paths, dict) else []
    operations = [one for item in items for one in dicts_in(list(item.values()))]
    servers = [server for holder in (document, *items, *operations) for server in dicts_in(holder.get("servers"))]
    known = dict.fromkeys(name for server in servers for name in _VARIABLE.findall(str(server.get("url"))))
    for name in (name for name in variables if name not in known):
        problem = f"no server has the variable {name!r} of server_variables; there are: {', '.join(known) or 'none'}"
        raise DocumentError(("servers",), problem)


def _scheme(url: str) -> str:
    """Return the scheme of ``url``; empty for a relative URL and for text that is not a URL."""
    try:
        return urlsplit(url).scheme
    except ValueError:
        return ""


def _substituted(server: Mapping[str, Any], variables: Mapping[str, str], refusals: list[str]) -> str | None:
    """Return the URL of ``server`` with its variables replaced, or None, with a reason in ``refusals``."""
    declared = server.get("variables")
    values: dict[str, str] = {}
    for name in _VARIABLE.findall(server["url"]):
        variable = declared.get(name) if isinstance(declared, dict) else None
        default = variable.get("default") if isinstance(variable, dict) else None
        value = variables.get(name, default)
        allowed = variable.get("enum") if isinstance(variable, dict) else None
        if value is None or value == "":
            refusals.append(f"variable {name!r} of the server has no value; set it in server_variables")
            return None
        if name in variables and isinstance(allowed, list) and allowed and value not in allowed:
            shown = ", ".join(map(str, allowed[:10]))
            refusals.append(f"{value!r} is not a value of the variable {name!r} of the server: {shown}")
            return None
        values[name] = str(value)
    return _VARIABLE.sub(lambda match: values[match[1]], server["url"]).strip()


def _refusal(url: str) -> str:
    shown = repr(url[:120])
    scheme = _scheme(url)
    if scheme == "":
        return f"server {shown} is relative; {_SET_BASE_URL}, or url to where the document is"
    if scheme not in ("http", "https"):
        return f"server {shown} is not an https URL"
    if not host_of(url.partition("#")[0]):
        reason = "is not https" if scheme == "http" else "is not a URL without user name that calls can be sent to"
        return f"server {shown} {reason}; {_SET_BASE_URL}"
    return ""


def common_base(urls: Sequence[str]) -> str:
    """Return the longest URL that begins each of ``urls``, which have one origin, at the end of a path segment.

    Example:
        >>> common_base(["https://a.test/v1", "https://a.test/v2"]), common_base(["https://a.test/v1"])
        ('https://a.test', 'https://a.test/v1')
    """
    split = [url.split("/") for url in urls]
    kept = []
    for segments in zip(*split, strict=False):
        if len(set(segments)) > 1:
            break
        kept.append(segments[0])
    return "/".join(kept)
