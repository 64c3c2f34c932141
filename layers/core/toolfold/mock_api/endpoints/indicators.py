"""The technical indicators: one line per indicator, one builder for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from toolfold.mock_api.endpoint import DATATYPE, ENTITLEMENT, Document, Refused, Shape, Table
from toolfold.mock_api.indicators import averages as av
from toolfold.mock_api.indicators import direction as dr
from toolfold.mock_api.indicators import oscillators as os
from toolfold.mock_api.indicators.averages import Line
from toolfold.mock_api.indicators.bars import Columns, columns
from toolfold.mock_api.price_series import Bar, daily, monthly, weekly
from toolfold.mock_api.request_parsing import Call
from toolfold.mock_api.stocks import minute_bars, walk_of

from .core_stocks import MINUTES, MONTH, SYMBOL
from .indicator_parameters import INTERVAL, MINUTE_INTERVAL, PARAMETERS


@dataclass(frozen=True, slots=True)
class Reading:
    """What a formula reads: the bars, the series that ``series_type`` names, and the numbers of the call."""

    bars: Columns
    call: Call

    @property
    def series(self) -> list[float]:
        return self.bars.series(self.call.text("series_type"))

    @property
    def period(self) -> int:
        return self.call.integer("time_period")

    def whole(self, *names: str) -> list[int]:
        return [self.call.integer(name) for name in names]


@dataclass(frozen=True, slots=True)
class Study:
    """One indicator. ``settings`` are its parameters in the order of the meta data, a tuple being one numbered group;
    ``rows`` the keys of a row, in the order in which ``compute`` gives the lines."""

    function: str
    title: str
    settings: tuple[str | tuple[str, ...], ...]
    rows: tuple[str, ...]
    compute: Callable[[Reading], Sequence[Line]]
    result: str = ""
    zone: str = "US/Eastern Time"
    premium: bool = False
    digits: int = 4

    @property
    def path(self) -> str:
        return f"Technical Analysis: {self.result or self.function}"

    @property
    def names(self) -> list[str]:
        return [name for group in self.settings for name in ((group,) if isinstance(group, str) else group)]


P, S = "time_period", "series_type"
PS = (P, S)
Formula = Callable[[Reading], Sequence[Line]]


def _average(function: Callable[[list[float], int], Line]) -> Formula:
    return lambda r: (function(r.series, r.period),)


def _by_period(function: Callable[[Columns, int], Line]) -> Formula:
    return lambda r: (function(r.bars, r.period),)


def _by_bars(function: Callable[[Columns], Sequence[float | None]]) -> Formula:
    return lambda r: (list(function(r.bars)),)


def _by_series(function: Callable[[list[float]], Line]) -> Formula:
    return lambda r: (function(r.series),)


def _macd(r: Reading) -> Sequence[Line]:
    return os.macd(r.series, r.whole(*_MACD), (1, 1, 1))


def _macd_extended(r: Reading) -> Sequence[Line]:
    return os.macd(r.series, r.whole(*_MACD), r.whole(*_MACD_CODES))


def _stochastic(r: Reading) -> Sequence[Line]:
    fast, k, k_code, d, d_code = r.whole("fastkperiod", "slowkperiod", "slowkmatype", "slowdperiod", "slowdmatype")
    return os.stochastic(r.bars, fast, (k, k_code), (d, d_code))


def _stochastic_fast(r: Reading) -> Sequence[Line]:
    fast, d, code = r.whole("fastkperiod", "fastdperiod", "fastdmatype")
    return os.stochastic_fast(r.bars, fast, (d, code))


def _stochastic_rsi(r: Reading) -> Sequence[Line]:
    fast, d, code = r.whole("fastkperiod", "fastdperiod", "fastdmatype")
    return os.stochastic_rsi(r.series, r.period, fast, (d, code))


def _price_oscillator(r: Reading) -> Sequence[Line]:
    fast, slow, code = r.whole("fastperiod", "slowperiod", "matype")
    return (os.spread(r.series, fast, slow, (code, code)),)


def _percent_oscillator(r: Reading) -> Sequence[Line]:
    return (os.percent_spread(r.series, *r.whole("fastperiod", "slowperiod", "matype")),)


def _bands(r: Reading) -> Sequence[Line]:
    return os.bollinger(r.series, r.period, *r.whole("nbdevup", "nbdevdn", "matype"))


def _ultimate(r: Reading) -> Sequence[Line]:
    first, second, third = r.whole("timeperiod1", "timeperiod2", "timeperiod3")
    return (os.ultimate(r.bars, (first, second, third)),)


_E = "US/Eastern"
_OSCILLATOR = (("fastperiod", "slowperiod", "matype"), S)
_MACD = ("fastperiod", "slowperiod", "signalperiod")
_MACD_CODES = ("fastmatype", "slowmatype", "signalmatype")
_MACD_ROWS = ("MACD", "MACD_Signal", "MACD_Hist")
_FAST_D = ("fastkperiod", "fastdperiod", "fastdmatype")
_HILBERT = "Hilbert Transform - "

STUDIES = (
    Study("SMA", "Simple Moving Average (SMA)", PS, ("SMA",), _average(av.sma), zone=_E),
    Study("EMA", "Exponential Moving Average (EMA)", PS, ("EMA",), _average(av.ema), zone=_E),
    Study("WMA", "Weighted Moving Average (WMA)", PS, ("WMA",), _average(av.wma), zone=_E),
    Study("DEMA", "Double Exponential Moving Average (DEMA)", PS, ("DEMA",), _average(av.dema), zone=_E),
    Study("TEMA", "Triple Exponential Moving Average (TEMA)", PS, ("TEMA",), _average(av.tema), zone=_E),
    Study("TRIMA", "Triangular Exponential Moving Average (TRIMA)", PS, ("TRIMA",), _average(av.trima)),
    Study("KAMA", "Kaufman Adaptive Moving Average (KAMA)", PS, ("KAMA",), _average(av.kama)),
    Study("MAMA", "MESA Adaptive Moving Average (MAMA)", (("fastlimit", "slowlimit"), S), ("MAMA", "FAMA"),
          lambda r: av.mama(r.series, r.call.number("fastlimit"), r.call.number("slowlimit"))),
    Study("VWAP", "Volume Weighted Average Price (VWAP)", (), ("VWAP",), _by_bars(os.vwap), zone=_E, premium=True),
    Study("T3", "Triple Exponential Moving Average (T3)", (P, "=Volume Factor (vFactor)", S), ("T3",),
          _average(av.t3)),
    Study("MACD", "Moving Average Convergence/Divergence (MACD)", (_MACD, S), _MACD_ROWS, _macd, zone=_E,
          premium=True),
    Study("MACDEXT", "MACD with Controllable MA Type (MACDEXT)",
          ((*_MACD, *_MACD_CODES), S), _MACD_ROWS, _macd_extended),
    Study("STOCH", "Stochastic (STOCH)",
          (("fastkperiod", "slowkperiod", "slowkmatype", "slowdperiod", "slowdmatype"),), ("SlowK", "SlowD"),
          _stochastic),
    Study("STOCHF", "Stochastic Fast (STOCHF)", (_FAST_D,), ("FastK", "FastD"), _stochastic_fast),
    Study("RSI", "Relative Strength Index (RSI)", PS, ("RSI",), _average(os.rsi)),
    Study("STOCHRSI", "Stochastic Relative Strength Index (STOCHRSI)", (P, _FAST_D, S), ("FastK", "FastD"),
          _stochastic_rsi),
    Study("WILLR", "Williams' %R (WILLR)", (P,), ("WILLR",), _by_period(os.williams)),
    Study("ADX", "Average Directional Movement Index (ADX)", (P,), ("ADX",), _by_period(dr.average_index)),
    Study("ADXR", "Average Directional Movement Index Rating (ADXR)", (P,), ("ADXR",), _by_period(dr.index_rating)),
    Study("APO", "Absolute Price Oscillator (APO)", _OSCILLATOR, ("APO",), _price_oscillator),
    Study("PPO", "Percentage Price Oscillator (PPO)", _OSCILLATOR, ("PPO",), _percent_oscillator),
    Study("MOM", "Momentum (MOM)", PS, ("MOM",), _average(os.momentum)),
    Study("BOP", "Balance Of Power (BOP)", (), ("BOP",), _by_bars(os.balance_of_power)),
    Study("CCI", "Commodity Channel Index (CCI)", (P,), ("CCI",), _by_period(os.commodity_channel)),
    Study("CMO", "Chande Momentum Oscillator (CMO)", PS, ("CMO",), _average(os.cmo)),
    Study("ROC", "Rate of change : ((price/prevPrice)-1)*100", PS, ("ROC",), _average(os.rate_of_change)),
    Study("ROCR", "Rate of change ratio: (price/prevPrice)", PS, ("ROCR",), _average(os.rate_ratio)),
    Study("AROON", "Aroon (AROON)", (P,), ("Aroon Down", "Aroon Up"), lambda r: dr.aroon(r.bars, r.period)),
    Study("AROONOSC", "Aroon Oscillator (AROONOSC)", (P,), ("AROONOSC",), _by_period(dr.aroon_oscillator)),
    Study("MFI", "Money Flow Index (MFI)", (P,), ("MFI",), _by_period(os.money_flow)),
    Study("TRIX", "1-day Rate-Of-Change (ROC) of a Triple Smooth EMA (TRIX)", PS, ("TRIX",), _average(os.trix)),
    Study("ULTOSC", "Ultimate Oscillator (ULTOSC)", (("timeperiod1", "timeperiod2", "timeperiod3"),), ("ULTOSC",),
          _ultimate),
    Study("DX", "Directional Movement Index (DX)", (P,), ("DX",), _by_period(dr.index)),
    Study("MINUS_DI", "Minus Directional Indicator (MINUS_DI)", (P,), ("MINUS_DI",),
          _by_period(partial(dr.indicator, up=False))),
    Study("PLUS_DI", "Plus Directional Indicator (PLUS_DI)", (P,), ("PLUS_DI",),
          _by_period(partial(dr.indicator, up=True))),
    Study("MINUS_DM", "Minus Directional Movement (MINUS_DM)", (P,), ("MINUS_DM",),
          _by_period(partial(dr.movement, up=False))),
    Study("PLUS_DM", "Plus Directional Movement (PLUS_DM)", (P,), ("PLUS_DM",),
          _by_period(partial(dr.movement, up=True))),
    Study("BBANDS", "Bollinger Bands (BBANDS)", (P, ("nbdevup", "nbdevdn", "matype"), S),
          ("Real Upper Band", "Real Middle Band", "Real Lower Band"), _bands),
    Study("MIDPOINT", "MidPoint over period (MIDPOINT)", PS, ("MIDPOINT",),
          lambda r: (os.midpoint(r.series, r.series, r.period),)),
    Study("MIDPRICE", "Midpoint Price over period (MIDPRICE)", (P,), ("MIDPRICE",),
          lambda r: (os.midpoint(r.bars.high, r.bars.low, r.period),)),
    Study("SAR", "Parabolic SAR (SAR)", (("acceleration", "maximum"),), ("SAR",),
          lambda r: (dr.parabolic(r.bars, r.call.number("acceleration"), r.call.number("maximum")),)),
    Study("TRANGE", "True Range (TRANGE)", (), ("TRANGE",), _by_bars(dr.true_range)),
    Study("ATR", "Average True Range (ATR)", (P,), ("ATR",), _by_period(dr.average_true_range)),
    Study("NATR", "Normalized Average True Range (NATR)", (P,), ("NATR",), _by_period(dr.normalized_range)),
    Study("AD", "Chaikin A/D Line", (), ("Chaikin A/D",), _by_bars(os.accumulation), result="Chaikin A/D"),
    Study("ADOSC", "Chaikin A/D Oscillator (ADOSC)", (("fastperiod (ADOSC)", "slowperiod (ADOSC)"),), ("ADOSC",),
          lambda r: (os.accumulation_oscillator(r.bars, *r.whole("fastperiod", "slowperiod")),)),
    Study("OBV", "On Balance Volume (OBV)", (), ("OBV",), _by_bars(os.on_balance)),
    Study("HT_TRENDLINE", f"{_HILBERT}Instantaneous Trendline (HT_TRENDLINE)", (S,), ("HT_TRENDLINE",),
          _by_series(dr.trendline)),
    Study("HT_SINE", f"{_HILBERT}SineWave (HT_SINE)", (S,), ("LEAD SINE", "SINE"), lambda r: dr.sine(r.series)),
    Study("HT_TRENDMODE", f"{_HILBERT}Trend vs Cycle Mode (HT_TRENDMODE)", (S,), ("TRENDMODE",),
          _by_series(dr.trend_mode), digits=0),
    Study("HT_DCPERIOD", f"{_HILBERT}Dominant Cycle Period (HT_DCPERIOD)", (S,), ("DCPERIOD",),
          _by_series(dr.cycle_period)),
    Study("HT_DCPHASE", f"{_HILBERT}Dominant Cycle Phase (HT_DCPHASE)", (S,), ("HT_DCPHASE",),
          _by_series(dr.cycle_phase)),
    Study("HT_PHASOR", f"{_HILBERT}Phasor Components (HT_PHASOR)", (S,), ("PHASE", "QUADRATURE"),
          lambda r: dr.phasor(r.series)),
)  # fmt: skip

PERIODS: dict[str, Callable[[tuple[Bar, ...]], Sequence[Bar]]] = {"daily": list, "weekly": weekly, "monthly": monthly}


def _bars(call: Call) -> Sequence[Bar]:
    symbol, interval = call.text("symbol"), call.text("interval")
    if interval in PERIODS:  # month only selects minutes; with a longer interval it is ignored
        return PERIODS[interval](daily(walk_of(symbol), call.today))
    return minute_bars(symbol, call.today, int(interval.removesuffix("min")), month=call.text("month"))


def _numbers(settings: Sequence[str | tuple[str, ...]], call: Call) -> dict[str, str | float]:
    """The numbered meta data entries of the settings, beginning at 5; a group shares one number: 5.1, 5.2."""
    found: dict[str, str | float] = {}
    for place, group in enumerate(settings, 5):
        names = (group,) if isinstance(group, str) else group
        for part, name in enumerate(names, 1):
            number = str(place) if isinstance(group, str) else f"{place}.{part}"
            if name.startswith("="):  # T3 tells a constant that cannot be chosen
                found[f"{number}: {name[1:]}"] = 0.7
                continue
            parameter, label = PARAMETERS[name]
            convert = {"integer": int, "number": float}.get(parameter.kind, str)
            found[f"{number}: {label}"] = convert(call.text(parameter.name))
    return found


def _build(call: Call, *, study: Study) -> Document:
    bars = _bars(call)
    if not bars:
        raise Refused("invalid_call")
    lines = study.compute(Reading(columns(bars), call))
    minutes = call.text("interval") in MINUTES
    rows = {}
    for bar, *values in zip(reversed(bars), *map(reversed, lines), strict=True):
        if None not in values:
            stamp = bar.label[:16] if minutes else bar.label
            rows[stamp] = {key: f"{value:.{study.digits}f}" for key, value in zip(study.rows, values, strict=True)}
    head: dict[str, str | float] = {
        "1: Symbol": call.text("symbol"),
        "2: Indicator": study.title,
        "3: Last Refreshed": bars[-1].label,
        "4: Interval": call.text("interval"),
        **_numbers(study.settings, call),
    }
    head[f"{5 + len(study.settings)}: Time Zone"] = study.zone
    return {"Meta Data": head, study.path: rows}


def _shape(study: Study) -> Shape:
    """CSV columns come in alphabetical order, whatever the order of the JSON keys."""
    interval = MINUTE_INTERVAL if study.function == "VWAP" else INTERVAL
    own = tuple(PARAMETERS[name][0] for name in study.names if not name.startswith("="))
    keys = tuple(sorted(study.rows))
    return Shape(
        study.function,
        (SYMBOL, interval, *own, MONTH, DATATYPE, ENTITLEMENT),
        partial(_build, study=study),
        Table(study.path, "map", ("time", *keys), keys),
        access="premium" if study.premium else "free",
    )


SHAPES = tuple(_shape(study) for study in STUDIES)
