"""The JSON resources of the page: ``ui/api/NAME`` is answered by ``respond`` of the module ``NAME``.

docs/reference/explorer-api.md has an example of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["VIEWS", "View"]

_READ = ("GET", "HEAD")


class View(NamedTuple):
    """One resource.

    Attributes:
        methods: What it answers.
        is_local_only: Whether a deployed page does not have it.
    """

    methods: tuple[str, ...] = _READ
    is_local_only: bool = False


VIEWS: Mapping[str, View] = {
    "start": View(),
    "catalog": View(),
    "search": View(),
    "tool": View(),
    "tokens": View(("POST",)),
    "watch": View(is_local_only=True),
    "approvals": View((*_READ, "POST"), is_local_only=True),
}
"""Name → resource."""
