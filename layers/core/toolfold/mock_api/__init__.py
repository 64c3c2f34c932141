"""A local imitation of the Alpha Vantage HTTP API: all 129 functions, deterministic synthetic data, every error.

What lives here: ``answers`` (query in, :class:`Answer` out, no I/O), ``faults`` (errors and broken connections on
demand), ``families`` (one file per group of functions: accepted parameters and the document they answer with),
``studies`` (technical indicators) and ``server`` (the socket around it).

It imports the standard library and nothing else of toolfold: the mock API judges the query strings that the catalog
produces, so it must not learn them from the catalog.
"""

from .responses import Response
from .router import handle_query
from .server import MockApi

__all__ = ["MockApi", "Response", "handle_query"]
