"""Registry of all endpoints by function name."""

from __future__ import annotations

from toolfold.mock_api.endpoint import Endpoint
from toolfold.mock_api.endpoints import (
    analytics,
    calendars,
    company,
    congress,
    core_stocks,
    currencies,
    economy,
    indicators,
    indices,
    intelligence,
    options,
    quotes,
    statements,
)

_ENDPOINT_MODULES = (
    core_stocks,
    quotes,
    options,
    intelligence,
    analytics,
    company,
    statements,
    calendars,
    currencies,
    economy,
    indicators,
    indices,
    congress,
)

ENDPOINTS: dict[str, Endpoint] = {
    endpoint.function: endpoint for module in _ENDPOINT_MODULES for endpoint in module.ENDPOINTS
}
