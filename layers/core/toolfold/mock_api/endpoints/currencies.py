"""Foreign exchange and cryptocurrencies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from toolfold.mock_api.endpoint import (
    DATATYPE,
    ApiRequest,
    Document,
    Endpoint,
    Parameter,
    Table,
    number_keys,
    strip_number,
)
from toolfold.mock_api.endpoints.core_stocks import MINUTES, OHLCV, OUTPUTSIZE, meta, newest_first, size_name
from toolfold.mock_api.price_series import (
    ALL_DAY_SESSION,
    Bar,
    PriceSeries,
    daily_bars,
    intraday_bars,
    monthly_bars,
    weekly_bars,
)
from toolfold.mock_api.seeded_random import SeededRandom

# code -> name and dollars per unit; the names are facts, the rates are invented
PHYSICAL = {
    "AUD": ("Australian Dollar", 0.67), "BRL": ("Brazilian Real", 0.185), "CAD": ("Canadian Dollar", 0.72),
    "CHF": ("Swiss Franc", 1.25), "CNY": ("Chinese Yuan", 0.143), "CZK": ("Czech Republic Koruna", 0.048),
    "DKK": ("Danish Krone", 0.156), "EUR": ("Euro", 1.165), "GBP": ("British Pound Sterling", 1.345),
    "HKD": ("Hong Kong Dollar", 0.128), "HUF": ("Hungarian Forint", 0.003), "IDR": ("Indonesian Rupiah", 0.00006),
    "ILS": ("Israeli New Sheqel", 0.315), "INR": ("Indian Rupee", 0.0111), "JPY": ("Japanese Yen", 0.0063),
    "KRW": ("South Korean Won", 0.00068), "MXN": ("Mexican Peso", 0.056), "MYR": ("Malaysian Ringgit", 0.246),
    "NOK": ("Norwegian Krone", 0.099), "NZD": ("New Zealand Dollar", 0.575), "PLN": ("Polish Zloty", 0.277),
    "SEK": ("Swedish Krona", 0.109), "SGD": ("Singapore Dollar", 0.778), "THB": ("Thai Baht", 0.032),
    "TRY": ("Turkish Lira", 0.0232), "TWD": ("New Taiwan Dollar", 0.0316), "USD": ("United States Dollar", 1.0),
    "ZAR": ("South African Rand", 0.061),
}  # fmt: skip
COINS = {
    "ADA": ("Cardano", 0.4), "AVAX": ("Avalanche", 14.0), "BCH": ("Bitcoin-Cash", 620.0),
    "BNB": ("Binance-Coin", 910.0),
    "BTC": ("Bitcoin", 93000.0), "DOGE": ("DogeCoin", 0.14), "DOT": ("Polkadot", 2.1), "ETH": ("Ethereum", 3150.0),
    "LINK": ("ChainLink", 13.5), "LTC": ("Litecoin", 79.0), "SOL": ("Solana", 142.0), "XRP": ("Ripple", 2.1),
}  # fmt: skip

CURRENCY = "[A-Za-z]{3}"
OHLC = number_keys("open", "high", "low", "close")
INTRADAY_DAYS = 30


def _name(code: str) -> str:
    code = code.upper()
    return (PHYSICAL.get(code) or COINS.get(code) or (code, 0.0))[0]


def _dollars(code: str) -> float:
    code = code.upper()
    known = PHYSICAL.get(code) or COINS.get(code)
    return known[1] if known else round(SeededRandom("currency", code).uniform(0.05, 3.0), 4)


def currency_pair_series(base: str, quote: str) -> PriceSeries:
    """Return the price series of one currency in units of another.

    It has weekdays for two physical currencies, every day where one of them is a coin.
    """
    base, quote = base.upper(), quote.upper()
    level = _dollars(base) / _dollars(quote)
    if base in COINS or quote in COINS:
        rng = SeededRandom("coin", base, quote)
        volume = rng.uniform(0.3, 0.8) * 1e8 / max(_dollars(base), 1e-6)
        return PriceSeries(f"{base}/{quote}", level, 0.12, 0.026, 8, volume, "every")
    return PriceSeries(f"{base}/{quote}", level, 0.0, 0.004, 5, 0.0, "weekdays")


def _fx_rows(bars: list[Bar]) -> list[tuple[str, dict[str, str]]]:
    return [(bar.label, dict(zip(OHLC, (f"{p:.5f}" for p in bar[1:5]), strict=True))) for bar in bars]


def _recent(series: PriceSeries, request: ApiRequest) -> list[Bar]:
    since = (request.today - timedelta(days=INTRADAY_DAYS)).isoformat()
    days = [bar for bar in daily_bars(series, request.today) if bar.label > since]
    return intraday_bars(series, days, int(request.text("interval").removesuffix("min")), ALL_DAY_SESSION)


def _fx_series(request: ApiRequest) -> PriceSeries:
    return currency_pair_series(request.text("from_symbol"), request.text("to_symbol"))


def _fx_document(request: ApiRequest, title: str, path: str, bars: list[Bar], *, sized_first: bool = False) -> Document:
    rows = _fx_rows(bars)
    stamp = rows[-1][0] if len(rows[-1][0]) > 10 else f"{rows[-1][0]} 21:55:00"
    size = [("Output Size", size_name(request))] if request.text("outputsize") else []
    interval = [("Interval", request.text("interval"))] if request.text("interval") else []
    refreshed = [("Last Refreshed", stamp)]
    middle = [*size, *refreshed] if sized_first else [*refreshed, *interval, *size]
    codes = [("From Symbol", request.text("from_symbol")), ("To Symbol", request.text("to_symbol"))]
    head = meta(("Information", title), *codes, *middle, ("Time Zone", "UTC"))
    return {"Meta Data": head, path: newest_first(rows, request)}


def _fx_intraday(request: ApiRequest) -> Document:
    interval = request.text("interval")
    bars = _recent(_fx_series(request), request)
    return _fx_document(request, f"FX Intraday ({interval}) Time Series", f"Time Series FX ({interval})", bars)


def _fx_period(name: str, group: Callable[[tuple[Bar, ...]], list[Bar]]) -> Callable[[ApiRequest], Document]:
    def build(request: ApiRequest) -> Document:
        title = f"Forex {name} Prices (open, high, low, close)"
        bars = group(daily_bars(_fx_series(request), request.today))
        return _fx_document(request, title, f"Time Series FX ({name})", bars, sized_first=True)

    return build


RATE_TITLE = "Realtime Currency Exchange Rate"
RATE_KEYS = number_keys(
    "From_Currency Code", "From_Currency Name", "To_Currency Code", "To_Currency Name", "Exchange Rate",
    "Last Refreshed", "Time Zone", "Bid Price", "Ask Price",
)  # fmt: skip


def _rate(request: ApiRequest) -> Document:
    base, quote = request.text("from_currency").upper(), request.text("to_currency").upper()
    rate = daily_bars(currency_pair_series(base, quote), request.today)[-1].close
    stamp = f"{request.today.isoformat()} 21:59:{SeededRandom('rate', base, quote).randint(0, 59):02d}"
    prices = [f"{rate * (1 - 0.00002):.8f}", f"{rate * (1 + 0.00002):.8f}"]
    values = [base, _name(base), quote, _name(quote), f"{rate:.8f}", stamp, "UTC", *prices]
    return {RATE_TITLE: dict(zip(RATE_KEYS, values, strict=True))}


def _coin_document(request: ApiRequest, title: str, path: str, bars: list[Bar], *, intraday: bool) -> Document:
    """Return prices and volume. Intraday volume is a JSON number, the only one of the price series."""
    digits = 5 if intraday else 8
    rows = []
    for bar in bars:
        volume = int(bar.volume) if intraday else f"{bar.volume:.8f}"
        prices = [f"{price:.{digits}f}" for price in bar[1:5]]
        rows.append((bar.label, dict(zip(OHLCV, [*prices, volume], strict=True))))
    symbol, market = request.text("symbol").upper(), request.text("market").upper()
    stamp = rows[-1][0] if intraday else f"{rows[-1][0]} 00:00:00"
    extra = [("Interval", request.text("interval")), ("Output Size", size_name(request))] if intraday else []
    head = meta(
        ("Information", title),
        ("Digital Currency Code", symbol),
        ("Digital Currency Name", _name(symbol)),
        ("Market Code", market),
        ("Market Name", _name(market)),
        ("Last Refreshed", stamp),
        *extra,
        ("Time Zone", "UTC"),
    )
    compact = request.text("outputsize") == "compact"
    return {"Meta Data": head, path: dict(reversed(rows[-100:] if compact else rows))}


def _coin_series(request: ApiRequest) -> PriceSeries:
    series = currency_pair_series(request.text("symbol"), request.text("market"))
    # An unknown coin in a physical currency trades every day too.
    return series if series.calendar == "every" else PriceSeries(series.name, series.level, 0.1, 0.03, 8, 1e6, "every")


def _coin_intraday(request: ApiRequest) -> Document:
    interval = request.text("interval")
    bars = _recent(_coin_series(request), request)
    title = f"Crypto Intraday ({interval}) Time Series"
    return _coin_document(request, title, f"Time Series Crypto ({interval})", bars, intraday=True)


def _coin_period(name: str, group: Callable[[tuple[Bar, ...]], list[Bar]]) -> Callable[[ApiRequest], Document]:
    def build(request: ApiRequest) -> Document:
        title = f"{name} Prices and Volumes for Digital Currency"
        bars = group(daily_bars(_coin_series(request), request.today))
        return _coin_document(request, title, f"Time Series (Digital Currency {name})", bars, intraday=False)

    return build


def _map(path: str, keys: tuple[str, ...]) -> Table:
    return Table(path, "map", ("timestamp", *(strip_number(key) for key in keys)), keys)


_PAIR = (
    Parameter("from_symbol", required=True, pattern=CURRENCY),
    Parameter("to_symbol", required=True, pattern=CURRENCY),
)
_COIN = (Parameter("symbol", required=True), Parameter("market", required=True))
_INTERVAL = Parameter("interval", required=True, enum=MINUTES)

ENDPOINTS = (
    Endpoint(
        "FX_INTRADAY",
        (*_PAIR, _INTERVAL, OUTPUTSIZE, DATATYPE),
        _fx_intraday,
        _map("Time Series FX ({interval})", OHLC),
        access="premium",
        symbol="from_symbol",
    ),
    Endpoint(
        "FX_DAILY",
        (*_PAIR, OUTPUTSIZE, DATATYPE),
        _fx_period("Daily", list),
        _map("Time Series FX (Daily)", OHLC),
        symbol="from_symbol",
    ),
    Endpoint(
        "FX_WEEKLY",
        (*_PAIR, DATATYPE),
        _fx_period("Weekly", weekly_bars),
        _map("Time Series FX (Weekly)", OHLC),
        symbol="from_symbol",
    ),
    Endpoint(
        "FX_MONTHLY",
        (*_PAIR, DATATYPE),
        _fx_period("Monthly", monthly_bars),
        _map("Time Series FX (Monthly)", OHLC),
        symbol="from_symbol",
    ),
    Endpoint(
        "CURRENCY_EXCHANGE_RATE",
        (Parameter("from_currency", required=True), Parameter("to_currency", required=True), DATATYPE),
        _rate,
        Table(RATE_TITLE, "object", tuple(strip_number(key) for key in RATE_KEYS), RATE_KEYS),
        symbol="from_currency",
    ),
    Endpoint(
        "CRYPTO_INTRADAY",
        (*_COIN, _INTERVAL, OUTPUTSIZE, DATATYPE),
        _coin_intraday,
        _map("Time Series Crypto ({interval})", OHLCV),
        access="premium",
    ),
    *(
        Endpoint(
            f"DIGITAL_CURRENCY_{name.upper()}",
            (*_COIN, DATATYPE),
            _coin_period(name, group),
            _map(f"Time Series (Digital Currency {name})", OHLCV),
        )
        for name, group in (("Daily", list), ("Weekly", weekly_bars), ("Monthly", monthly_bars))
    ),
)
