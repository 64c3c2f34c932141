"""Local imitation of the Alpha Vantage HTTP API: all 129 functions, deterministic synthetic data and every known error.

Contains the query router, the faults that can be requested, the endpoints, the technical indicators and an HTTP server.
Imports the standard library and nothing else of toolfold: tests compare the queries that the catalog produces with this
package, so it must not take its facts from the catalog.
"""

from toolfold.mock_api.responses import Response
from toolfold.mock_api.router import handle_query
from toolfold.mock_api.server import MockApi

__all__ = ["MockApi", "Response", "handle_query"]
