"""Aggregate functions over the values of a group, in plain Python."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

NUMERIC = ("sum", "avg", "median", "stddev", "variance", "stddev_pop", "var_pop")
"""Functions that need numbers; ``min`` and ``max`` take all that has an order."""


def total(values: Sequence[float]) -> float:
    """Return the exact sum: an integer of integers."""
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile with linear interpolation between the two nearest values."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation, None where it is not defined."""
    if len(pairs) < 2:
        return None
    try:
        return statistics.correlation(*zip(*pairs, strict=True))
    except statistics.StatisticsError:
        return None


_OF_NUMBERS: dict[str, tuple[int, Callable[[Sequence[float]], float]]] = {
    "sum": (1, total),
    "avg": (1, lambda values: total(values) / len(values)),
    "median": (1, statistics.median),
    "stddev": (2, statistics.stdev),
    "variance": (2, statistics.variance),
    "stddev_pop": (1, statistics.pstdev),
    "var_pop": (1, statistics.pvariance),
    "min": (1, min),
    "max": (1, max),
}
"""Function → the least number of values, and what it computes."""


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """Return what a function of one argument gives for a group; nulls are skipped."""
    known = [value for value in values if value is not None]
    if function == "count":
        return len(known)
    least, compute = _OF_NUMBERS[function]
    return compute(known) if len(known) >= least else None


def rounded(value: Any) -> Any:
    """Return a computed number with 12 significant digits."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value
