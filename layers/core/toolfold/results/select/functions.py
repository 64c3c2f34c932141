"""The functions of a ``select``, by the names that models give them."""

from __future__ import annotations

from collections.abc import Mapping

AGGREGATES: Mapping[str, str] = {
    **{name: name for name in ("min", "max", "mean", "sum", "count", "first", "last", "change", "change_percent",
                               "median", "percentile", "stddev", "variance", "range")},
    **dict.fromkeys(("avg", "average"), "mean"),
    **dict.fromkeys(("total", "add"), "sum"),
    **dict.fromkeys(("minimum", "lowest", "smallest"), "min"),
    **dict.fromkeys(("maximum", "highest", "largest"), "max"),
    **dict.fromkeys(("n", "len", "size"), "count"),
    **dict.fromkeys(("oldest", "earliest"), "first"),
    **dict.fromkeys(("newest", "latest"), "last"),
    **dict.fromkeys(("pct_change", "percent_change", "change_pct", "pctchange", "returns", "growth"), "change_percent"),
    **dict.fromkeys(("diff", "difference", "delta"), "change"),
    **dict.fromkeys(("std", "stdev", "stddev_samp", "standard_deviation"), "stddev"),
    **dict.fromkeys(("var", "var_samp"), "variance"),
    **dict.fromkeys(("quantile", "pct", "percentile_cont"), "percentile"),
    **dict.fromkeys(("nunique", "count_distinct", "countd"), "count_distinct"),
    "spread": "range",
}  # fmt: skip
"""Functions of all rows: name → what is calculated."""

SCALARS: Mapping[str, str] = {
    **{name: name for name in ("abs", "round", "lower", "upper", "length")},
    **{name: name for name in ("year", "quarter", "month", "week", "weekday", "day", "hour")},
    "absolute": "abs",
    "dayofweek": "weekday",
    "date": "day",
}
"""Functions of one cell."""

TIME_UNITS = ("year", "quarter", "month", "week", "weekday", "day", "hour")
"""Units of time by which rows can be grouped: functions of the date of a row."""

SHOWN = ("min", "max", "mean", "sum", "count", "first", "last", "change", "median", "percentile", "stddev")
"""Functions named in errors."""

DISTINCT = "unique"
"""The function that is written for a distinct selection: ``unique(type)``."""
