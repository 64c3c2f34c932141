"""Send the credentials of a source: where ``auth`` of its ``source.yaml`` says, and nowhere else.

======================  ===============================================================================================
``auth``                what is sent of the key
======================  ===============================================================================================
``query_key: NAME``     a parameter of the query
``header: NAME``        a header; with ``prefix: WORD`` the word and a space before the key
``cookie: NAME``        a cookie
``bearer: true``        ``Authorization: Bearer KEY``
``basic: true``         ``Authorization: Basic …`` of ``user:password``
``oauth2: …``           ``Authorization: Bearer TOKEN``; the key is ``client_id:client_secret``, see ``oauth2``
======================  ===============================================================================================
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from toolfold.sources.http_api.styles import cookie_text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth

__all__ = ["SentCredentials", "credentials_to_send", "secrets_of", "taken_names"]


class SentCredentials(NamedTuple):
    """What a request has for the credentials of its source. ``repr`` hides the values.

    Attributes:
        query: percent-encoded pairs.
        headers: name → value.
        cookies: pairs.
    """

    query: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    cookies: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"SentCredentials({len(self.query)} in the query, {len(self.headers)} headers, {len(self.cookies)} cookies)"
        )


def credentials_to_send(auth: Auth | None, key: str) -> SentCredentials:
    """Return where ``key`` goes.

    Args:
        auth: of the source; None for a source without credentials.
        key: the key of the call; an access token where ``auth`` has ``oauth2``.
    """
    if auth is None or not key:
        return SentCredentials()
    if auth.query_key is not None:
        return SentCredentials(query=(f"{quote(auth.query_key, safe='')}={quote(key, safe='')}",))
    if auth.header is not None:
        return SentCredentials(headers={auth.header: f"{auth.prefix} {key}" if auth.prefix else key})
    if auth.cookie is not None:
        return SentCredentials(cookies=(f"{auth.cookie}={cookie_text(key)}",))
    if auth.basic:
        return SentCredentials(headers={"Authorization": f"Basic {basic_credentials(key)}"})
    if auth.bearer or auth.oauth2 is not None:
        return SentCredentials(headers={"Authorization": f"Bearer {key}"})
    return SentCredentials()


def basic_credentials(key: str) -> str:
    """Return ``user:password`` as RFC 7617 has it; a key without a colon is a user without a password.

    >>> basic_credentials("user:pass"), basic_credentials("sk_1")
    ('dXNlcjpwYXNz', 'c2tfMTo=')
    """
    return base64.b64encode((key if ":" in key else f"{key}:").encode()).decode()


def secrets_of(auth: Auth | None, key: str) -> tuple[str, ...]:
    """Return the parts of ``key`` that must not appear in a response, besides the whole."""
    if auth is None or not (auth.basic or auth.oauth2 is not None):
        return ()
    secret = key.partition(":")[2]
    return tuple(text for text in (secret, basic_credentials(key)) if text)


def taken_names(auth: Auth | None) -> frozenset[tuple[str, str]]:
    """Return location and name of what the credentials are sent as; names of headers in lower case."""
    if auth is None:
        return frozenset()
    found = {("header", "authorization")}
    if auth.query_key is not None:
        found.add(("query", auth.query_key))
    if auth.header is not None:
        found.add(("header", auth.header.lower()))
    if auth.cookie is not None:
        found.add(("cookie", auth.cookie))
    return frozenset(found)
