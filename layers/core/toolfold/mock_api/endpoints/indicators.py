"""Endpoints of the technical indicators: one table entry per indicator, one builder for all.

Parameters of the technical indicators, with their labels in the meta data of a response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from toolfold.mock_api.endpoint import DATATYPE, ENTITLEMENT, ApiError, ApiRequest, Document, Endpoint, Parameter, Table
from toolfold.mock_api.endpoints.core_stocks import MINUTES, MONTH, SYMBOL
from toolfold.mock_api.indicators import averages as avg
from toolfold.mock_api.indicators import oscillators as dr
from toolfold.mock_api.indicators import oscillators as osc
from toolfold.mock_api.indicators.averages import BarColumns, Line, to_columns
from toolfold.mock_api.price_series import Bar, daily_bars, monthly_bars, weekly_bars
from toolfold.mock_api.stocks import minute_bars, price_series_for

INTERVAL = Parameter("interval", required=True, enum=(*MINUTES, "daily", "weekly", "monthly"))

MINUTE_INTERVAL = Parameter("interval", required=True, enum=MINUTES)


def _count(name: str, default: int) -> Parameter:
    return Parameter(name, kind="integer", default=str(default), minimum=1)


def _average_code(name: str) -> Parameter:
    return Parameter(name, kind="integer", default="0", minimum=0, maximum=8)


def _positive(name: str, default: str) -> Parameter:
    return Parameter(name, kind="number", default=default, above=0)


# Every parameter of the indicators beside symbol, interval, month, datatype and entitlement, with its meta data label.
PARAMETERS: dict[str, tuple[Parameter, str]] = {
    "time_period": (Parameter("time_period", kind="integer", required=True, minimum=1), "Time Period"),
    "series_type": (
        Parameter("series_type", required=True, enum=("close", "open", "high", "low")),
        "Series Type",
    ),
    "fastperiod": (_count("fastperiod", 12), "Fast Period"),
    "slowperiod": (_count("slowperiod", 26), "Slow Period"),
    "signalperiod": (_count("signalperiod", 9), "Signal Period"),
    "matype": (_average_code("matype"), "MA Type"),
    "fastmatype": (_average_code("fastmatype"), "Fast MA Type"),
    "slowmatype": (_average_code("slowmatype"), "Slow MA Type"),
    "signalmatype": (_average_code("signalmatype"), "Signal MA Type"),
    "fastkperiod": (_count("fastkperiod", 5), "FastK Period"),
    "slowkperiod": (_count("slowkperiod", 3), "SlowK Period"),
    "slowkmatype": (_average_code("slowkmatype"), "SlowK MA Type"),
    "slowdperiod": (_count("slowdperiod", 3), "SlowD Period"),
    "slowdmatype": (_average_code("slowdmatype"), "SlowD MA Type"),
    "fastdperiod": (_count("fastdperiod", 3), "FastD Period"),
    "fastdmatype": (_average_code("fastdmatype"), "FastD MA Type"),
    "timeperiod1": (_count("timeperiod1", 7), "Time Period 1"),
    "timeperiod2": (_count("timeperiod2", 14), "Time Period 2"),
    "timeperiod3": (_count("timeperiod3", 28), "Time Period 3"),
    "nbdevup": (_count("nbdevup", 2), "Deviation multiplier for upper band"),
    "nbdevdn": (_count("nbdevdn", 2), "Deviation multiplier for lower band"),
    "fastlimit": (_positive("fastlimit", "0.01"), "Fast Limit"),
    "slowlimit": (_positive("slowlimit", "0.01"), "Slow Limit"),
    "acceleration": (_positive("acceleration", "0.01"), "Acceleration"),
    "maximum": (_positive("maximum", "0.2"), "Maximum"),
    # The two of ADOSC have other defaults, and the vendor labels them as if they were a stochastic's.
    "fastperiod (ADOSC)": (_count("fastperiod", 3), "FastK Period"),
    "slowperiod (ADOSC)": (_count("slowperiod", 10), "SlowK Period"),
}


@dataclass(frozen=True, slots=True)
class IndicatorInput:
    """Input of an indicator: the bars and the validated request."""

    bars: BarColumns
    request: ApiRequest

    @property
    def series(self) -> list[float]:
        """The prices that ``series_type`` names."""
        return self.bars.series(self.request.text("series_type"))

    @property
    def period(self) -> int:
        """The value of ``time_period``."""
        return self.request.integer("time_period")

    def integers(self, *names: str) -> list[int]:
        """Return the values of several integer parameters."""
        return [self.request.integer(name) for name in names]


@dataclass(frozen=True, slots=True)
class Indicator:
    """One technical indicator.

    Attributes:
        parameters: The parameters in the order of the meta data; a tuple is one numbered group.
        row_keys: The keys of a row, in the order in which ``compute`` returns the lines.
        compute: Returns the lines of the indicator.
        result: The name in the key of the rows where it is not ``function``.
        decimals: Decimals of the values.
    """

    function: str
    title: str
    parameters: tuple[str | tuple[str, ...], ...]
    row_keys: tuple[str, ...]
    compute: Callable[[IndicatorInput], Sequence[Line]]
    result: str = ""
    time_zone: str = "US/Eastern Time"
    premium: bool = False
    decimals: int = 4

    @property
    def path(self) -> str:
        """The key of the rows in the document."""
        return f"Technical Analysis: {self.result or self.function}"

    @property
    def parameter_names(self) -> list[str]:
        """The names of all parameters, without groups."""
        return [name for group in self.parameters for name in ((group,) if isinstance(group, str) else group)]


P, S = "time_period", "series_type"
PS = (P, S)
Formula = Callable[[IndicatorInput], Sequence[Line]]


def _average(function: Callable[[list[float], int], Line]) -> Formula:
    return lambda r: (function(r.series, r.period),)


def _by_period(function: Callable[[BarColumns, int], Line]) -> Formula:
    return lambda r: (function(r.bars, r.period),)


def _by_bars(function: Callable[[BarColumns], Sequence[float | None]]) -> Formula:
    return lambda r: (list(function(r.bars)),)


def _by_series(function: Callable[[list[float]], Line]) -> Formula:
    return lambda r: (function(r.series),)


def _macd(r: IndicatorInput) -> Sequence[Line]:
    return osc.macd(r.series, r.integers(*_MACD), (1, 1, 1))


def _macd_extended(r: IndicatorInput) -> Sequence[Line]:
    return osc.macd(r.series, r.integers(*_MACD), r.integers(*_MACD_CODES))


def _stochastic(r: IndicatorInput) -> Sequence[Line]:
    fast, k, k_code, d, d_code = r.integers("fastkperiod", "slowkperiod", "slowkmatype", "slowdperiod", "slowdmatype")
    return osc.stochastic(r.bars, fast, (k, k_code), (d, d_code))


def _stochastic_fast(r: IndicatorInput) -> Sequence[Line]:
    fast, d, code = r.integers("fastkperiod", "fastdperiod", "fastdmatype")
    return osc.stochastic_fast(r.bars, fast, (d, code))


def _stochastic_rsi(r: IndicatorInput) -> Sequence[Line]:
    fast, d, code = r.integers("fastkperiod", "fastdperiod", "fastdmatype")
    return osc.stochastic_rsi(r.series, r.period, fast, (d, code))


def _price_oscillator(r: IndicatorInput) -> Sequence[Line]:
    fast, slow, code = r.integers("fastperiod", "slowperiod", "matype")
    return (osc.absolute_price_oscillator(r.series, fast, slow, (code, code)),)


def _percent_oscillator(r: IndicatorInput) -> Sequence[Line]:
    return (osc.percentage_price_oscillator(r.series, *r.integers("fastperiod", "slowperiod", "matype")),)


def _bands(r: IndicatorInput) -> Sequence[Line]:
    return osc.bollinger_bands(r.series, r.period, *r.integers("nbdevup", "nbdevdn", "matype"))


def _ultimate(r: IndicatorInput) -> Sequence[Line]:
    first, second, third = r.integers("timeperiod1", "timeperiod2", "timeperiod3")
    return (osc.ultimate_oscillator(r.bars, (first, second, third)),)


_E = "US/Eastern"
_OSCILLATOR = (("fastperiod", "slowperiod", "matype"), S)
_MACD = ("fastperiod", "slowperiod", "signalperiod")
_MACD_CODES = ("fastmatype", "slowmatype", "signalmatype")
_MACD_ROWS = ("MACD", "MACD_Signal", "MACD_Hist")
_FAST_D = ("fastkperiod", "fastdperiod", "fastdmatype")
_HILBERT = "Hilbert Transform - "

INDICATORS = (
    Indicator("SMA", "Simple Moving Average (SMA)", PS, ("SMA",), _average(avg.sma), time_zone=_E),
    Indicator("EMA", "Exponential Moving Average (EMA)", PS, ("EMA",), _average(avg.ema), time_zone=_E),
    Indicator("WMA", "Weighted Moving Average (WMA)", PS, ("WMA",), _average(avg.wma), time_zone=_E),
    Indicator("DEMA", "Double Exponential Moving Average (DEMA)", PS, ("DEMA",), _average(avg.dema), time_zone=_E),
    Indicator("TEMA", "Triple Exponential Moving Average (TEMA)", PS, ("TEMA",), _average(avg.tema), time_zone=_E),
    Indicator("TRIMA", "Triangular Exponential Moving Average (TRIMA)", PS, ("TRIMA",), _average(avg.trima)),
    Indicator("KAMA", "Kaufman Adaptive Moving Average (KAMA)", PS, ("KAMA",), _average(avg.kama)),
    Indicator("MAMA", "MESA Adaptive Moving Average (MAMA)", (("fastlimit", "slowlimit"), S), ("MAMA", "FAMA"),
              lambda r: avg.mama(r.series, r.request.number("fastlimit"), r.request.number("slowlimit"))),
    Indicator("VWAP", "Volume Weighted Average Price (VWAP)", (), ("VWAP",),
              _by_bars(osc.vwap), time_zone=_E, premium=True),
    Indicator("T3", "Triple Exponential Moving Average (T3)", (P, "=Volume Factor (vFactor)", S), ("T3",),
              _average(avg.t3)),
    Indicator("MACD", "Moving Average Convergence/Divergence (MACD)", (_MACD, S), _MACD_ROWS, _macd, time_zone=_E,
              premium=True),
    Indicator("MACDEXT", "MACD with Controllable MA Type (MACDEXT)",
              ((*_MACD, *_MACD_CODES), S), _MACD_ROWS, _macd_extended),
    Indicator("STOCH", "Stochastic (STOCH)",
              (("fastkperiod", "slowkperiod", "slowkmatype", "slowdperiod", "slowdmatype"),), ("SlowK", "SlowD"),
              _stochastic),
    Indicator("STOCHF", "Stochastic Fast (STOCHF)", (_FAST_D,), ("FastK", "FastD"), _stochastic_fast),
    Indicator("RSI", "Relative Strength Index (RSI)", PS, ("RSI",), _average(osc.rsi)),
    Indicator("STOCHRSI", "Stochastic Relative Strength Index (STOCHRSI)", (P, _FAST_D, S), ("FastK", "FastD"),
              _stochastic_rsi),
    Indicator("WILLR", "Williams' %R (WILLR)", (P,), ("WILLR",), _by_period(osc.williams_percent_r)),
    Indicator("ADX", "Average Directional Movement Index (ADX)", (P,), ("ADX",),
              _by_period(dr.average_directional_index)),
    Indicator("ADXR", "Average Directional Movement Index Rating (ADXR)", (P,), ("ADXR",),
              _by_period(dr.average_directional_index_rating)),
    Indicator("APO", "Absolute Price Oscillator (APO)", _OSCILLATOR, ("APO",), _price_oscillator),
    Indicator("PPO", "Percentage Price Oscillator (PPO)", _OSCILLATOR, ("PPO",), _percent_oscillator),
    Indicator("MOM", "Momentum (MOM)", PS, ("MOM",), _average(osc.momentum)),
    Indicator("BOP", "Balance Of Power (BOP)", (), ("BOP",), _by_bars(osc.balance_of_power)),
    Indicator("CCI", "Commodity Channel Index (CCI)", (P,), ("CCI",), _by_period(osc.commodity_channel_index)),
    Indicator("CMO", "Chande Momentum Oscillator (CMO)", PS, ("CMO",), _average(osc.cmo)),
    Indicator("ROC", "Rate of change : ((price/prevPrice)-1)*100", PS, ("ROC",), _average(osc.rate_of_change)),
    Indicator("ROCR", "Rate of change ratio: (price/prevPrice)", PS, ("ROCR",), _average(osc.rate_of_change_ratio)),
    Indicator("AROON", "Aroon (AROON)", (P,), ("Aroon Down", "Aroon Up"), lambda r: dr.aroon(r.bars, r.period)),
    Indicator("AROONOSC", "Aroon Oscillator (AROONOSC)", (P,), ("AROONOSC",), _by_period(dr.aroon_oscillator)),
    Indicator("MFI", "Money Flow Index (MFI)", (P,), ("MFI",), _by_period(osc.money_flow_index)),
    Indicator("TRIX", "1-day Rate-Of-Change (ROC) of a Triple Smooth EMA (TRIX)", PS, ("TRIX",), _average(osc.trix)),
    Indicator("ULTOSC", "Ultimate Oscillator (ULTOSC)", (("timeperiod1", "timeperiod2", "timeperiod3"),), ("ULTOSC",),
              _ultimate),
    Indicator("DX", "Directional Movement Index (DX)", (P,), ("DX",), _by_period(dr.directional_index)),
    Indicator("MINUS_DI", "Minus Directional Indicator (MINUS_DI)", (P,), ("MINUS_DI",),
              _by_period(partial(dr.directional_indicator, up=False))),
    Indicator("PLUS_DI", "Plus Directional Indicator (PLUS_DI)", (P,), ("PLUS_DI",),
              _by_period(partial(dr.directional_indicator, up=True))),
    Indicator("MINUS_DM", "Minus Directional Movement (MINUS_DM)", (P,), ("MINUS_DM",),
              _by_period(partial(dr.directional_movement, up=False))),
    Indicator("PLUS_DM", "Plus Directional Movement (PLUS_DM)", (P,), ("PLUS_DM",),
              _by_period(partial(dr.directional_movement, up=True))),
    Indicator("BBANDS", "Bollinger Bands (BBANDS)", (P, ("nbdevup", "nbdevdn", "matype"), S),
              ("Real Upper Band", "Real Middle Band", "Real Lower Band"), _bands),
    Indicator("MIDPOINT", "MidPoint over period (MIDPOINT)", PS, ("MIDPOINT",),
              lambda r: (osc.midpoint(r.series, r.series, r.period),)),
    Indicator("MIDPRICE", "Midpoint Price over period (MIDPRICE)", (P,), ("MIDPRICE",),
              lambda r: (osc.midpoint(r.bars.high, r.bars.low, r.period),)),
    Indicator("SAR", "Parabolic SAR (SAR)", (("acceleration", "maximum"),), ("SAR",),
              lambda r: (dr.parabolic_sar(r.bars, r.request.number("acceleration"), r.request.number("maximum")),)),
    Indicator("TRANGE", "True Range (TRANGE)", (), ("TRANGE",), _by_bars(dr.true_range)),
    Indicator("ATR", "Average True Range (ATR)", (P,), ("ATR",), _by_period(dr.average_true_range)),
    Indicator("NATR", "Normalized Average True Range (NATR)", (P,), ("NATR",),
              _by_period(dr.normalized_average_true_range)),
    Indicator("AD", "Chaikin A/D Line", (), ("Chaikin A/D",),
              _by_bars(osc.accumulation_distribution), result="Chaikin A/D"),
    Indicator("ADOSC", "Chaikin A/D Oscillator (ADOSC)", (("fastperiod (ADOSC)", "slowperiod (ADOSC)"),), ("ADOSC",),
              lambda r: (osc.accumulation_distribution_oscillator(r.bars, *r.integers("fastperiod", "slowperiod")),)),
    Indicator("OBV", "On Balance Volume (OBV)", (), ("OBV",), _by_bars(osc.on_balance_volume)),
    Indicator("HT_TRENDLINE", f"{_HILBERT}Instantaneous Trendline (HT_TRENDLINE)", (S,), ("HT_TRENDLINE",),
              _by_series(dr.hilbert_trendline)),
    Indicator("HT_SINE", f"{_HILBERT}SineWave (HT_SINE)", (S,), ("LEAD SINE", "SINE"),
              lambda r: dr.hilbert_sine(r.series)),
    Indicator("HT_TRENDMODE", f"{_HILBERT}Trend vs Cycle Mode (HT_TRENDMODE)", (S,), ("TRENDMODE",),
              _by_series(dr.hilbert_trend_mode), decimals=0),
    Indicator("HT_DCPERIOD", f"{_HILBERT}Dominant Cycle Period (HT_DCPERIOD)", (S,), ("DCPERIOD",),
              _by_series(dr.dominant_cycle_period)),
    Indicator("HT_DCPHASE", f"{_HILBERT}Dominant Cycle Phase (HT_DCPHASE)", (S,), ("HT_DCPHASE",),
              _by_series(dr.dominant_cycle_phase)),
    Indicator("HT_PHASOR", f"{_HILBERT}Phasor Components (HT_PHASOR)", (S,), ("PHASE", "QUADRATURE"),
              lambda r: dr.hilbert_phasor(r.series)),
)  # fmt: skip

PERIODS: dict[str, Callable[[tuple[Bar, ...]], Sequence[Bar]]] = {
    "daily": list,
    "weekly": weekly_bars,
    "monthly": monthly_bars,
}


def _bars(request: ApiRequest) -> Sequence[Bar]:
    symbol, interval = request.text("symbol"), request.text("interval")
    if interval in PERIODS:  # ``month`` is ignored with intervals of a day and more
        return PERIODS[interval](daily_bars(price_series_for(symbol), request.today))
    return minute_bars(symbol, request.today, int(interval.removesuffix("min")), month=request.text("month"))


def _numbers(parameters: Sequence[str | tuple[str, ...]], request: ApiRequest) -> dict[str, str | float]:
    """Return the numbered meta data entries of the parameters from 5 on. A group shares one number: 5.1, 5.2."""
    found: dict[str, str | float] = {}
    for index, group in enumerate(parameters, 5):
        names = (group,) if isinstance(group, str) else group
        for part, name in enumerate(names, 1):
            number = str(index) if isinstance(group, str) else f"{index}.{part}"
            if name.startswith("="):  # a constant of T3 that cannot be chosen
                found[f"{number}: {name[1:]}"] = 0.7
                continue
            parameter, label = PARAMETERS[name]
            convert = {"integer": int, "number": float}.get(parameter.kind, str)
            found[f"{number}: {label}"] = convert(request.text(parameter.name))
    return found


def _build(request: ApiRequest, *, indicator: Indicator) -> Document:
    bars = _bars(request)
    if not bars:
        raise ApiError("invalid_call")
    lines = indicator.compute(IndicatorInput(to_columns(bars), request))
    minutes = request.text("interval") in MINUTES
    rows = {}
    for bar, *values in zip(reversed(bars), *map(reversed, lines), strict=True):
        if None not in values:
            stamp = bar.label[:16] if minutes else bar.label
            rows[stamp] = {
                key: f"{value:.{indicator.decimals}f}" for key, value in zip(indicator.row_keys, values, strict=True)
            }
    head: dict[str, str | float] = {
        "1: Symbol": request.text("symbol"),
        "2: Indicator": indicator.title,
        "3: Last Refreshed": bars[-1].label,
        "4: Interval": request.text("interval"),
        **_numbers(indicator.parameters, request),
    }
    head[f"{5 + len(indicator.parameters)}: Time Zone"] = indicator.time_zone
    return {"Meta Data": head, indicator.path: rows}


def _endpoint(indicator: Indicator) -> Endpoint:
    """Return the endpoint of an indicator. CSV columns are in alphabetical order, unlike the JSON keys."""
    interval = MINUTE_INTERVAL if indicator.function == "VWAP" else INTERVAL
    own = tuple(PARAMETERS[name][0] for name in indicator.parameter_names if not name.startswith("="))
    keys = tuple(sorted(indicator.row_keys))
    return Endpoint(
        indicator.function,
        (SYMBOL, interval, *own, MONTH, DATATYPE, ENTITLEMENT),
        partial(_build, indicator=indicator),
        Table(indicator.path, "map", ("time", *keys), keys),
        access="premium" if indicator.premium else "free",
    )


ENDPOINTS = tuple(_endpoint(indicator) for indicator in INDICATORS)
