"""One query in, one answer out: the rules of the API in the order in which it applies them. No I/O."""

from __future__ import annotations

from datetime import date, datetime

from .endpoint import Refused, Shape, to_csv
from .faults import analytics_error, envelope, fault_of, placeholder_rows
from .registry import SHAPES
from .request_parsing import Call, Query, first_of, is_unknown, read_call
from .responses import Answer, csv_answer, json_answer

__all__ = ["NEWEST_DAY", "Answer", "answer"]

# A Tuesday on which New York traded. Without ``now`` it is always this day, so that answers never change.
NEWEST_DAY = date(2026, 1, 13)

DEMO_KEY, FREE_KEY = "demo", "free"
FREE_SYMBOLS, FREE_CALCULATIONS = 5, 1  # what analytics give to a free key


def answer(query: Query, *, now: datetime | None = None) -> Answer:
    """Answer ``query``, the parsed query string in its order and with its repeats.

    ``now`` moves the newest day of the data; only its date counts, and every session of that date has ended.
    The same query and the same date give the same bytes, in every process and on every day. Never raises.
    """
    today = now.date() if now else NEWEST_DAY
    function = first_of(query, "function")
    shape = SHAPES.get(function)
    if not first_of(query, "apikey"):
        return envelope("invalid_api_key", query)
    fault = fault_of(query, shape)
    if fault is not None:
        return fault
    if first_of(query, "apikey") == DEMO_KEY:
        return envelope("demo_key_only", query)
    if shape is None:
        return envelope("unknown_function", query)
    call = read_call(query, function, shape.parameters, today)
    if call is None:
        return envelope(shape.refusal, query)
    if first_of(query, "apikey") == FREE_KEY:
        refused = _refused_to_free_key(call, shape, query)
        if refused is not None:
            return refused
    return _data(call, shape, query)


def _data(call: Call, shape: Shape, query: Query) -> Answer:
    try:
        if not shape.symbol or not is_unknown(call.text(shape.symbol)):
            document = shape.build(call)
        elif shape.unknown:
            document = shape.unknown(call)
        else:
            return envelope(shape.refusal, query)
    except Refused as refused:
        name = str(refused.args[0])
        return analytics_error() if name == "analytics_error" else envelope(name, query)
    wants_csv = not shape.json or call.text("datatype") == "csv"
    if wants_csv and shape.table is not None:
        return csv_answer(to_csv(shape.table, document, call))
    return json_answer(document)


def _refused_to_free_key(call: Call, shape: Shape, query: Query) -> Answer | None:
    if shape.access == "premium":
        return envelope("premium_endpoint", query)
    if shape.access == "placeholder":
        return placeholder_rows(call.function, shape)
    if call.text("entitlement"):
        return envelope("not_entitled", query)
    if call.function == "TIME_SERIES_DAILY" and call.text("outputsize") == "full":
        return envelope("premium_parameter", query)
    sliding = call.function == "ANALYTICS_SLIDING_WINDOW"
    if len(call.items("SYMBOLS")) > FREE_SYMBOLS or (sliding and len(call.items("CALCULATIONS")) > FREE_CALCULATIONS):
        return envelope("premium_endpoint", query)
    return None
