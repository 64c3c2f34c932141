"""Find which sources have tools that are not free. A catalog calls a tool free where no source says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

__all__ = ["paid_sources"]

_FREE = "free"


def paid_sources(catalog: Catalog) -> frozenset[str]:
    """Return the ids of the sources that have a tool which is not free, also one that is not exposed here."""
    base = catalog.base
    return base.memoize("paid sources", lambda: _find(base))


def _find(catalog: Catalog) -> frozenset[str]:
    access = catalog.positions_of("access")
    paid = {position for value, positions in access.items() if value != _FREE for position in positions}
    if not paid:
        return frozenset()
    sources = catalog.positions_of("source")
    return frozenset(id_ for id_, positions in sources.items() if not paid.isdisjoint(positions))
