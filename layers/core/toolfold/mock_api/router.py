"""Answer one query: apply the rules of the API in the order in which the vendor applies them, without I/O.

Registry of all endpoints by function name.
"""

from __future__ import annotations

from datetime import date, datetime

from toolfold.mock_api.endpoint import (
    ApiError,
    ApiRequest,
    Endpoint,
    Query,
    get_first,
    is_unknown_symbol,
    parse_request,
    to_csv,
)
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
from toolfold.mock_api.faults import analytics_error_response, error_response, placeholder_response, requested_fault
from toolfold.mock_api.responses import Response, csv_response, json_response

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


# A Tuesday on which New York traded. It is the default of ``now``, so that responses never change.
NEWEST_DAY = date(2026, 1, 13)

DEMO_KEY, FREE_KEY = "demo", "free"
FREE_SYMBOLS, FREE_CALCULATIONS = 5, 1  # limits of a free key in analytics


def handle_query(query: Query, *, now: datetime | None = None) -> Response:
    """Return the response to a query. Never raises.

    The same query and the same date give the same bytes, in every process and on every day.

    Args:
        query: The parsed query string, in its order and with repeated names.
        now: Moves the newest day of the data. Only the date counts; every session of that date has ended.
    """
    today = now.date() if now else NEWEST_DAY
    function = get_first(query, "function")
    endpoint = ENDPOINTS.get(function)
    if not get_first(query, "apikey"):
        return error_response("invalid_api_key", query)
    fault = requested_fault(query, endpoint)
    if fault is not None:
        return fault
    if get_first(query, "apikey") == DEMO_KEY:
        return error_response("demo_key_only", query)
    if endpoint is None:
        return error_response("unknown_function", query)
    request = parse_request(query, function, endpoint.parameters, today)
    if request is None:
        return error_response(endpoint.error_name, query)
    if get_first(query, "apikey") == FREE_KEY:
        refused = _free_key_error(request, endpoint, query)
        if refused is not None:
            return refused
    return _build_response(request, endpoint, query)


def _build_response(request: ApiRequest, endpoint: Endpoint, query: Query) -> Response:
    """Return the data of an endpoint in the requested format, or the error that the endpoint raises."""
    try:
        if not endpoint.symbol or not is_unknown_symbol(request.text(endpoint.symbol)):
            document = endpoint.build(request)
        elif endpoint.unknown_symbol:
            document = endpoint.unknown_symbol(request)
        else:
            return error_response(endpoint.error_name, query)
    except ApiError as refused:
        name = str(refused.args[0])
        return analytics_error_response() if name == "analytics_error" else error_response(name, query)
    wants_csv = not endpoint.has_json or request.text("datatype") == "csv"
    if wants_csv and endpoint.table is not None:
        return csv_response(to_csv(endpoint.table, document, request))
    return json_response(document)


def _free_key_error(request: ApiRequest, endpoint: Endpoint, query: Query) -> Response | None:
    """Return what a free key gets instead of data, or None where it gets the data."""
    if endpoint.access == "premium":
        return error_response("premium_endpoint", query)
    if endpoint.access == "placeholder":
        return placeholder_response(request.function, endpoint)
    if request.text("entitlement"):
        return error_response("not_entitled", query)
    if request.function == "TIME_SERIES_DAILY" and request.text("outputsize") == "full":
        return error_response("premium_parameter", query)
    sliding = request.function == "ANALYTICS_SLIDING_WINDOW"
    if len(request.comma_list("SYMBOLS")) > FREE_SYMBOLS or (
        sliding and len(request.comma_list("CALCULATIONS")) > FREE_CALCULATIONS
    ):
        return error_response("premium_endpoint", query)
    return None
