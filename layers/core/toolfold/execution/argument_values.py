"""Propose what an argument may mean: the parameter of another name, and the value that is spelled another way.

Each function proposes; the parameter's schema decides. A value that its schema accepts never comes here. Tickers and
pairs of currencies are read in the spellings of other services (``$AAPL``, ``NASDAQ:AAPL``, ``EUR/USD``), by what the
catalog says of the source; one that says nothing keeps every value as it is.

The parameter's own name may have another case, punctuation or number; other words for it are data of the catalog
(``arguments.names`` of a source). Of two parameters that could be meant, the one whose schema takes the value is; where
that does not decide, the argument is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from toolfold.dates import UNITS, Bound
from toolfold.execution.validation_problems import Problem
from toolfold.fuzzy import Names, normalize
from toolfold.text_safety import quoted

_MAX_CHARS = 64
"""Characters of a value that is read: no enum value or number is longer."""

_PERIOD_WORDS = {
    "start": "start startdate starttime startdatetime startday from fromdate fromtime since datefrom timefrom begin "
    "begindate after mindate period1 rangestart startyear fromyear yearfrom",
    "end": "end enddate endtime enddatetime endday to todate totime until till dateto timeto before maxdate period2 "
    "rangeend endyear toyear yearto",
    "day": "date day on asof ondate tradingday year month yearmonth quarter time datetime",
    "first": "limit count rows n num top maxrows maxresults results numrows nrows head pagesize perpage",
    "last": "last tail",
    "span": "period range lookback timespan timerange daterange duration history span window",
}
REQUESTED = {word: kind for kind, words in _PERIOD_WORDS.items() for word in words.split()}
"""Name of an argument, as ``fuzzy.normalize`` spells it → what is requested by it."""

_SIZES = {"second": ("s", 1), "minute": ("s", 60), "hour": ("s", 3600), "day": ("d", 1), "week": ("d", 7),
          "month": ("m", 1), "quarter": ("m", 3), "halfyear": ("m", 6), "year": ("m", 12)}  # fmt: skip
"""Unit → what it is counted in (seconds, days, months), and how many of these. The three are not comparable."""

_SPAN = re.compile(r"(?P<count>\d{1,4})?[ _-]*(?P<unit>[a-z][a-z-]{0,12})")
_UNIT_FIRST = re.compile(r"(?P<unit>[dhmw])(?P<count>\d{1,3})")
_COUNT = re.compile(r"\d{1,4}")
_NUMBER = re.compile(r"(?P<number>[+-]?\d{1,9}(?:\.\d{1,9})?)[ -]?(?:periods?|bars?|days?|d|rows?|x)?")
_SIGNED = re.compile(r"-?\d*\.\d+|-\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,_ ]\d{3})+(?:\.\d{1,9})?")
_CURRENCY = re.compile(r"^([+-]?)[$€£¥] ?")
_COUNTED = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty"""
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTED.split())}
_NUMBER_WORDS |= {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100"}
_WORD = re.compile(r"[a-z]+")
_SPAN_UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")


_SEPARATOR = re.compile(r"\s*[,;|\n]\s*|\s+(?:and|or|vs\.?|versus|&)\s+")
_MAX_LISTED_CHARS = 1000


class Proposal(NamedTuple):
    """A value that may be meant, and whether a note states it."""

    value: Any
    is_noted: bool


def spelled_options(value: Any, options: Sequence[Any]) -> Iterator[Proposal]:
    """Yield the one of ``options`` that is ``value`` in another case, or has its letters and digits; -1 is not 1."""
    if not isinstance(value, str | int | float):
        return
    text = str(value).strip()
    spellings: list[Callable[[str], str]] = [str, str.casefold]
    if _is_short(value) and normalize(text) and not _SIGNED.fullmatch(text):
        spellings.append(normalize)
    texts = tuple(map(str, options))
    for spell in spellings:
        if found := _places(texts, spell).get(spell(text)):
            yield from (Proposal(options[place], False) for place in found if len(found) == 1)
            return


@lru_cache(maxsize=64)
def _places(options: tuple[str, ...], spell: Callable[[str], str]) -> Mapping[str, Sequence[int]]:
    """Return each spelling of ``options`` → where they have it: a list may have thousands of values of one enum."""
    places: dict[str, list[int]] = {}
    for place, option in enumerate(options):
        places.setdefault(spell(option), []).append(place)
    return places


def measured_options(value: Any, options: Sequence[Any]) -> Iterator[Proposal]:
    """Yield the member of ``options`` that is the same length of time, or has the same number: ``1h`` for ``60min``."""
    text = str(value).strip() if _is_short(value) else ""
    sizes = {option: size for option in options for size in _sizes(str(option))}
    for size in _sizes(text):
        yield from [Proposal(option, True) for option, known in sizes.items() if known == size][:1]
    if _COUNT.fullmatch(text):
        counted = [option for option in options if re.match(rf"{int(text)}(?!\d)", str(option))]
        yield from (Proposal(option, True) for option in counted if len(counted) == 1)


def _is_short(value: Any) -> bool:
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_scalar and len(str(value)) <= _MAX_CHARS


def _sizes(text: str) -> Iterator[tuple[str, int]]:
    """Yield the lengths of time that ``text`` may mean, the likelier first. ``1m`` is a minute, ``1M`` a month."""
    lowered = _with_digits(text)
    for count, unit in _lengths(_UNIT_FIRST.fullmatch(lowered) or _SPAN.fullmatch(lowered), "M" in text):
        counted_in, size = _SIZES[unit]
        yield counted_in, size * count


def _lengths(match: re.Match[str] | None, is_month: bool) -> list[tuple[int, str]]:
    """Return how many of which unit a match may mean; ``is_month``: a month rather than a minute, where it says m."""
    if match is None:
        return []
    unit, of_m = match["unit"].replace("-", ""), ["month", "minute"] if is_month else ["minute", "month"]
    units = of_m if unit == "m" else [UNITS[unit]] if unit in UNITS else []
    return [(int(match["count"] or 1), one) for one in units]


def _with_digits(text: str) -> str:
    """Return ``text`` in small letters, with digits for the numbers that are words: ``ten years``."""
    return _WORD.sub(lambda word: _NUMBER_WORDS.get(word[0], word[0]), text.lower().strip())


def spans(value: Any) -> Iterator[Proposal]:
    """Yield a span of time as ``6month``, as patterns of spans ask for it."""
    text = value.lower().strip() if isinstance(value, str) and len(value) <= _MAX_CHARS else ""
    match = _SPAN.fullmatch(text.removeprefix("last ").removeprefix("past "))
    for count, unit in _lengths(match, True):
        if match is not None and unit in _SPAN_UNITS:
            yield Proposal(f"{count}{unit}", match["unit"] == "m" or not match["count"])
    if normalize(text) in ("all", "max", "everything", "maximum"):
        yield Proposal("full", True)


def numbers(value: Any) -> Iterator[Proposal]:
    """Yield the number in a text such as ``14 days``, ``20-day`` and ``1,000``."""
    text = _CURRENCY.sub(r"\1", _with_digits(value)) if isinstance(value, str) and _is_short(value) else ""
    match = _NUMBER.fullmatch(text)
    if match or _THOUSANDS.fullmatch(text):
        digits = match["number"] if match else re.sub(r"[,_ ]", "", text)
        whole, _, decimals = digits.partition(".")
        yield Proposal(float(digits) if decimals.strip("0") else int(whole), True)


def listed_values(value: Any) -> list[Any]:
    """Return the values of a text that may be a list, as JSON or with separators; nothing for another text.

    >>> listed_values("AAPL, MSFT"), listed_values('["AAPL", 5]'), listed_values("AAPL")
    (['AAPL', 'MSFT'], ['AAPL', 5], [])
    """
    if not isinstance(value, str) or len(value) > _MAX_LISTED_CHARS:
        return []
    if value.lstrip().startswith("["):
        try:
            items = json.loads(value if '"' in value else value.replace("'", '"'))
        except (ValueError, RecursionError):
            return []
        return items if not any(isinstance(item, list | dict | None) for item in items) else []
    parts = _SEPARATOR.split(value.strip())
    return list(dict.fromkeys(parts)) if len(parts) > 1 and all(parts) else []


_MAX_TICKER_CHARS = 100
_NAME = re.compile(r"[A-Z][a-z]{4,}")
"""A capital and at least four small letters: the name of a company. ``Ibm`` and ``Tsla`` are tickers."""

_MAX_TICKER_LETTERS = 6
"""Letters of the longest ticker without a venue that is believed in small letters."""

_PAIR = re.compile(
    r"(?:[A-Za-z_]{2,10}:)?(?P<base>[A-Za-z0-9]{2,8}) ?(?:[/\-_:|]| to | in | vs |\.)? ?(?P<quote>[A-Za-z]{3,5})(?:=X)?"
)
_SIX_LETTERS = re.compile(r"(?P<base>[A-Za-z]{3})(?P<quote>[A-Za-z]{3})")
_CURRENCIES = frozenset({
    "USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "NZD", "CNY", "CNH", "HKD", "SGD", "KRW", "INR",
    "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN", "TRY", "ILS", "ZAR", "MXN", "BRL", "CLP",
    "COP", "ARS", "PEN", "THB", "IDR", "MYR", "PHP", "VND", "TWD", "AED", "SAR", "QAR", "KWD", "EGP",
    "NGN", "KES", "PKR", "BDT", "LKR", "UAH", "RUB", "ISK", "USDT", "USDC",
})  # fmt: skip
"""Codes of ISO 4217, and two coins that stand for the dollar, by which ``EURUSD`` is known to be a pair."""


def canonical_pattern(rules: Mapping[str, Any], separator: str = "") -> re.Pattern[str]:
    """Return what a ticker, or a list of them, matches that is already as the source writes it."""
    end = f"(?:{re.escape(separator)}|$)" if separator else "$"
    foreign = "|".join(map(re.escape, rules.get("suffixes", {})))
    one = rf"(?![A-Z0-9_\-]*\.(?:{foreign}){end})" if foreign else ""
    one += r"[A-Z0-9][A-Z0-9._\-=]*"
    return re.compile(rf"{one}(?:{re.escape(separator)}{one})*" if separator else one)


def parse_ticker(text: str, rules: Mapping[str, Any]) -> Proposal | None:
    """Return ``text`` as the source writes a ticker, or None for what looks like the name of a company."""
    given = " ".join(text.split()).strip("\"'`").removeprefix("$")
    if not given or len(given) > _MAX_TICKER_CHARS:
        return Proposal(text, False)
    prefixes, suffixes = rules.get("prefixes", {}), rules.get("suffixes", {})
    before, colon, after = (part.strip() for part in given.partition(":"))
    name, dot, venue = given.rpartition(".")
    places = [(before, after, prefixes), (after, before, prefixes)] if colon else [(venue, name, suffixes)] * bool(dot)
    for place, ticker, known in places:
        if (suffix := known.get(place.upper())) is not None:
            is_there = not suffix or ticker.upper().endswith(f".{suffix}")
            return Proposal(ticker.upper() if is_there else f"{ticker.upper()}.{suffix}", bool(suffix))
    if colon:
        return Proposal(given.upper(), False)
    base, slash, quote = given.partition("/")
    if slash and quote.upper() in _CURRENCIES:
        return Proposal(f"{base}{quote}".upper(), False)
    is_name = " " in given or "&" in given or "'" in given or bool(_NAME.fullmatch(given))
    is_long = given.isalpha() and not given.isupper() and len(given) > _MAX_TICKER_LETTERS
    return None if is_name or is_long else Proposal(given.upper(), False)


def parse_pair(value: Any) -> tuple[str, str] | None:
    """Return the two currencies of ``EUR/USD``, ``eurusd`` and ``BTC-USD``; None where it is not a pair."""
    text = " ".join(value.split()) if isinstance(value, str) and len(value) <= _MAX_TICKER_CHARS else ""
    match = (_SIX_LETTERS if text.isalnum() else _PAIR).fullmatch(text)
    pair = (match["base"].upper(), match["quote"].upper()) if match else ("", "")
    return pair if pair[1] in _CURRENCIES else None


_START_WORDS = frozenset({"from", "start", "since", "after", "begin", "min", "earliest"})
_END_WORDS = frozenset({"to", "end", "until", "before", "max", "latest"})


_END = re.compile(r"\[[01]\]$")
"""Of a target in ``arguments.names`` that is one end of a list with two items: ``range[0]``."""


def bound_of(parameter: str) -> Bound:
    """Return which end of a period ``parameter`` is, by the words of its name."""
    words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", parameter).lower()))
    return "start" if words & _START_WORDS else "end" if words & _END_WORDS else ""


class Renamed(NamedTuple):
    """Arguments under the names of parameters.

    Attributes:
        arguments: those that were found a parameter for, and the unknown ones as they were.
        notes: what a reader may not expect.
        problems: arguments that contradict each other, or may mean two parameters.
    """

    arguments: dict[str, Any]
    notes: list[str]
    problems: list[Problem]


def rename(
    given: Mapping[str, Any],
    parameters: Iterable[str],
    forms: Mapping[str, Any],
    takes: Callable[[str, Any], bool],
    periods: Sequence[str] = (),
) -> Renamed:
    """Return ``given`` under the names of ``parameters``.

    Args:
        given: the arguments as the caller named them.
        parameters: the names of the tool's parameters.
        forms: ``arguments`` of the source.
        takes: returns whether a parameter takes a value, in any spelling of it.
        periods: arguments that choose rows by date or number, where no parameter takes them.
    """
    names = list(parameters)
    found = Renamed({}, [], [])
    unknown: dict[str, Any] = {}
    for name, value in given.items():
        (found.arguments if name in names else unknown)[name] = value
    _split_pair(found, unknown, names, forms)
    _join_quarter(found, unknown, names, takes)
    sources = {name: name for name in found.arguments}
    others = {target: words for target, words in forms.get("names", {}).items() if _END.sub("", target) in names}
    meanings = Names(names, others)
    for name, value in unknown.items():
        targets = meanings.of(name)
        if name in periods and not any(takes(_END.sub("", target), value) for target in targets):
            targets = []
        if len(targets) > 1:
            free = [target for target in targets if target not in found.arguments]
            targets = [target for target in free if takes(_END.sub("", target), value)] or free or targets[:1]
        if not targets:
            found.arguments[name] = value
        elif value is None:
            continue  # not given
        elif len(targets) > 1:
            found.problems.append(_problem(name, "can mean more than one parameter", " or ".join(targets)))
        else:
            _assign(found, sources, targets[0], name, value)
    for target in {_END.sub("", one) for one in sources if one not in names}:
        ends = [found.arguments.pop(f"{target}[{index}]", None) for index in (0, 1)]
        if target in found.arguments or not all(isinstance(end, str | int) for end in ends):
            found.problems.append(_problem(target, "needs a start and an end", "both of them, or one list"))
        else:
            found.arguments[target] = list(map(str, ends))
    return found


def _assign(found: Renamed, sources: dict[str, str], target: str, name: str, value: Any) -> None:
    if target not in sources or found.arguments.get(target) is None:
        found.arguments[target] = value
        sources[target] = name
    elif _spelled(found.arguments[target]) != _spelled(value):
        first = sources[target]
        text = f"is given twice, as {quoted(found.arguments[target])}" + ("" if first == target else f" ({first})")
        found.problems.append(_problem(target, f"{text} and as {quoted(value)} ({name[:60]})", "one of them"))


def _spelled(value: Any) -> str:
    return str(value).strip().casefold()


def _split_pair(found: Renamed, unknown: dict[str, Any], names: list[str], forms: Mapping[str, Any]) -> None:
    """Divide a pair of currencies in one argument between the two parameters that a tool has for them."""
    for base_name, quote_name in forms.get("pairs", ()):
        if base_name not in names or quote_name not in names:
            continue
        words = {normalize(word) for word in forms["pair_names"]}
        others = (name for name in unknown if normalize(name) in words)
        carrier = base_name if base_name in found.arguments else next(others, "")
        value = found.arguments.get(carrier, unknown.get(carrier))
        pair = parse_pair(value)
        if pair is None or (base_name == carrier and len(str(value).strip()) <= 5):
            continue
        known = found.arguments.get(quote_name)
        if known is not None and _spelled(known) != pair[1].casefold():
            text = f"is {quoted(known)}, and {carrier} {quoted(value)} has {pair[1]}"
            found.problems.append(_problem(quote_name, text, "one of them"))
            continue
        unknown.pop(carrier, None)
        found.arguments.update({base_name: pair[0], quote_name: pair[1]})
        found.notes.append(f'{carrier} "{value}" was read as {base_name} "{pair[0]}", {quote_name} "{pair[1]}".')


def _join_quarter(found: Renamed, unknown: dict[str, Any], names: list[str], takes: Callable[[str, Any], bool]) -> None:
    """Join a year and the number of a quarter for a tool that takes both as one: ``2024Q1``."""
    year_name = next((name for name in unknown if normalize(name) in ("year", "fiscalyear")), "")
    targets = [name for name in names if normalize(name) in ("quarter", "fiscalquarter")]
    year = str(unknown.get(year_name, "")).strip()
    if len(targets) != 1 or not re.fullmatch(r"(?:19|20)\d\d", year) or not takes(targets[0], f"{year}Q1"):
        return
    target, others = targets[0], [name for name in unknown if normalize(name) in ("quarter", "fiscalquarter", "q")]
    given_as = target if found.arguments.get(target) is not None else next(iter(others), "")
    quarter = str(found.arguments.get(given_as, unknown.get(given_as, ""))).strip()
    number = re.fullmatch(rf"(?:{year}[- ]?)?(?:Q|quarter )?([1-4])", quarter, re.I)
    unknown.pop(year_name)
    unknown.pop(given_as, None)
    if number is None:
        found.arguments.pop(target, None)
        text = f"is {quoted(quarter)}" if quarter else "is missing"
        found.problems.append(_problem(target, f"{text} beside {year_name} {year}", f"{year}Q1 to {year}Q4"))
        return
    found.arguments[target] = f"{year}Q{number[1]}"
    found.notes.append(f"{year_name} {year} and {given_as} {quoted(quarter)} were read as {year}Q{number[1]}.")


def _problem(parameter: str, problem: str, expected: str) -> Problem:
    return {"parameter": parameter[:60], "problem": problem, "expected": expected}
