"""The mean of a measure over requests, with its standard error."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def with_error(values: Sequence[float]) -> str:
    """Return the mean of ``values`` and its standard error, in hundredths."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{100 * statistics.fmean(values):.1f} ± {100 * error:.1f}"
