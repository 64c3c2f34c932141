"""Parameters of the technical indicators, with their labels in the meta data of a response."""

from __future__ import annotations

from toolfold.mock_api.endpoints.core_stocks import MINUTES
from toolfold.mock_api.request_parsing import Parameter

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
