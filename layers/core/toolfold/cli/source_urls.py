"""Check the URLs that ``toolfold source add`` writes into a catalog, which others read: none may have a key."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from toolfold.build.typed_secrets import SECRET_NAME
from toolfold.catalog.head_checks import host_of

__all__ = ["request_problem", "url_problem"]


def request_problem(url: str) -> str:
    """Return what is wrong with the URL of a request, whose key is left out; empty: nothing."""
    if host_of(url.partition("#")[0]):
        return ""
    if "@" in urlsplit(url).netloc:
        return "must have no user and password: leave them out, and add --basic"
    return "must be an https URL, or http:// and this machine"


def url_problem(url: str) -> str:
    """Return what is wrong with a URL that is written as it is; empty: nothing.

    Example:
        >>> url_problem("https://mcp.example.com/mcp?api_key=k")
        'must have no key: leave api_key=… out, and add --query-key api_key'
    """
    if problem := request_problem(url):
        return problem
    secret = next((name for name, _ in parse_qsl(urlsplit(url).query) if SECRET_NAME.fullmatch(name)), None)
    return f"must have no key: leave {secret}=… out, and add --query-key {secret}" if secret else ""
