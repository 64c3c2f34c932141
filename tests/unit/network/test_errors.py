"""The tree of transport errors, and what a model is told for each of them."""

from __future__ import annotations

import re
import time
import traceback
from typing import Any

import pytest

from toolfold.catalog.model import Catalog
from toolfold.errors import UpstreamTimeout
from toolfold.network import errors
from toolfold.network.session import HttpClient
from toolfold.sources.errors import Retryable
from toolfold.sources.http_api.transport_errors import to_call_error

KEY = "CANARYKEY0123456"


def subclasses(kind: type[errors.TransportError]) -> list[type[errors.TransportError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in subclasses(child))]


CLASSES = subclasses(errors.TransportError)
LEAVES = [kind for kind in CLASSES if kind not in CLASSES[:1] and "reason" in vars(kind)]


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([ │├└─]*)(\w+)", (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\nM")[0], re.M)
    tree, path = [], []
    for indent, name in drawn:
        depth = len(indent) // 4 - 1
        path = [*path[:depth], name]
        tree.append((name, path[-2] if depth else None))
    parents = {kind: kind.__bases__[0].__name__ for kind in CLASSES if kind is not errors.TransportError}
    assert dict(tree) == {"TransportError": None} | {kind.__name__: name for kind, name in parents.items()}


@pytest.mark.parametrize("kind", LEAVES)
def test_each_has_a_sentence_and_a_next_step_without_placeholders(
    kind: type[errors.TransportError], catalog: Catalog
) -> None:
    error = to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 25_000_000)
    for text in (error.message, error.suggestion):
        assert re.fullmatch(r"[^{}]+\.", text.replace("http://name:password@host:port", ""))
    is_retryable = issubclass(kind, errors.RetryableTransportError)
    assert is_retryable is not issubclass(kind, errors.PermanentTransportError)
    assert isinstance(error, Retryable) is is_retryable
    assert isinstance(error, UpstreamTimeout) is issubclass(kind, errors.ConnectTimeout | errors.ReadTimeout)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (errors.NameResolutionError, "Cannot connect to api.example: DNS lookup failed."),
        (errors.ConnectionRefused, "Cannot connect to api.example: connection refused."),
        (errors.CertificateError, "TLS certificate check failed for api.example."),
        (errors.ConnectionBroken, "api.example closed the connection before the response was complete."),
        (errors.ResponseTooLarge, "The response is larger than 2.5 MB."),
    ],
)
def test_messages_name_the_host(kind: type[errors.TransportError], message: str, catalog: Catalog) -> None:
    assert to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 2_500_000).message == message


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://host.invalid/", "https://127.0.0.1:1/", "http://localhost:99999/", "http://[::1/"],
)
def test_no_exception_holds_the_url(url: str) -> None:
    limits: dict[str, Any] = {"connect_timeout_s": 2, "deadline": time.monotonic() + 2, "max_bytes": 99}
    with pytest.raises(errors.TransportError) as caught:
        HttpClient().request("GET", f"{url}?apikey={KEY}", headers={}, idempotent=True, **limits)
    error = caught.value
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error))
