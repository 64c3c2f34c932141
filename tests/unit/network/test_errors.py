"""The tree of transport errors, and what their texts hold."""

from __future__ import annotations

import re
import time
import traceback
from typing import Any

import pytest

from toolfold.network import errors
from toolfold.network.session import HttpClient

KEY = "CANARYKEY0123456"


def subclasses(kind: type[errors.TransportError]) -> list[type[errors.TransportError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in subclasses(child))]


CLASSES = subclasses(errors.TransportError)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([ │├└─]*)(\w+)", (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\nM")[0], re.M)
    tree, path = [], []
    for indent, name in drawn:
        depth = len(indent) // 4 - 1
        path = [*path[:depth], name]
        tree.append((name, path[-2] if depth else None))
    own = [kind for kind in CLASSES if kind.__module__ == errors.__name__ and kind is not errors.TransportError]
    parents = {kind: kind.__bases__[0].__name__ for kind in own}
    assert dict(tree) == {"TransportError": None} | {kind.__name__: name for kind, name in parents.items()}


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
