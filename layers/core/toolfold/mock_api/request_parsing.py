"""From a query string to a checked call: what a function accepts, and how its values are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

Query = Sequence[tuple[str, str]]

# Where a symbol-like value may stand; faults and unknown symbols are looked for in all of them.
SYMBOL_PARAMETERS = ("symbol", "symbols", "SYMBOLS", "tickers", "keywords", "from_symbol", "from_currency")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)", text) is not None


def _parses(convert: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            convert(text)
        except ValueError:
            return False
        return True

    return check


# One entry per kind of value: does this text belong to it?
VALUE_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "text": lambda text: bool(text.strip()),
    "integer": lambda text: re.fullmatch(r"[+-]?\d{1,9}", text) is not None,
    "number": _is_number,
    "boolean": lambda text: text in ("true", "false"),
    "date": lambda text: len(text) == 10 and _parses(date.fromisoformat)(text),
    "month": lambda text: re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text) is not None,
    "minute": lambda text: len(text) == 13 and _parses(lambda t: datetime.strptime(t, "%Y%m%dT%H%M"))(text),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter, with the limits that the vendor's documentation gives for it."""

    name: str
    kind: str = "text"
    required: bool = False
    default: str = ""
    enum: tuple[str, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    comma_list: bool = False
    repeats: int = 1

    def accepts(self, text: str) -> bool:
        parts = split_list(text) if self.comma_list else [text]
        return all(self._accepts_one(part) for part in parts)

    def _accepts_one(self, text: str) -> bool:
        if not VALUE_CHECKS[self.kind](text):
            return False
        if self.enum and text not in self.enum:
            return False
        if self.pattern and re.fullmatch(self.pattern, text) is None:
            return False
        if self.kind not in ("integer", "number"):
            return True
        value = float(text)
        return not (
            (self.minimum is not None and value < self.minimum)
            or (self.maximum is not None and value > self.maximum)
            or (self.above is not None and value <= self.above)
        )


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A checked call. ``values`` holds every known parameter that was sent or has a default; ``today`` is the newest
    day of which the mock API knows anything."""

    function: str
    values: Mapping[str, tuple[str, ...]]
    today: date

    def all_values(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())

    def text(self, name: str) -> str:
        return next(iter(self.all_values(name)), "")

    def integer(self, name: str) -> int:
        return int(self.text(name))

    def number(self, name: str) -> float:
        return float(self.text(name))

    def boolean(self, name: str) -> bool:
        return self.text(name) == "true"

    def comma_list(self, name: str) -> list[str]:
        return split_list(self.text(name)) if self.text(name) else []

    def date_value(self, name: str) -> date | None:
        return date.fromisoformat(self.text(name)) if self.text(name) else None


def split_list(text: str) -> list[str]:
    """Comma list to parts; a comma inside brackets, as in ``HISTOGRAM(bins=5,x=1)``, does not split."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)]


def get_values(query: Query, name: str) -> tuple[str, ...]:
    """Every value sent for ``name``, in order; an empty value counts as not sent."""
    return tuple(value for key, value in query if key == name and value != "")


def get_first(query: Query, name: str) -> str:
    return next(iter(get_values(query, name)), "")


def parse_request(query: Query, function: str, parameters: Sequence[Parameter], today: date) -> ApiRequest | None:
    """The checked call, or None when a required parameter is missing or a value is refused.

    Parameters that the function does not know are ignored, as the vendor does.
    """
    values: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        sent = get_values(query, parameter.name)
        if parameter.repeats == 1:
            sent = sent[:1]
        if len(sent) > parameter.repeats or (parameter.required and not sent):
            return None
        if not all(parameter.accepts(value) for value in sent):
            return None
        if sent or parameter.default:
            values[parameter.name] = sent or (parameter.default,)
    return ApiRequest(function, values, today)


def is_unknown_symbol(symbol: str) -> bool:
    """Symbols that no market knows: everything that starts with NOSUCH."""
    return symbol.upper().startswith("NOSUCH")
