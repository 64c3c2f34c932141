"""Bars as columns, the input of the indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from toolfold.mock_api.price_series import Bar


@dataclass(frozen=True, slots=True)
class BarColumns:
    """Prices and volumes, oldest first; all columns have the same length."""

    label: list[str]
    open: list[float]
    high: list[float]
    low: list[float]
    close: list[float]
    volume: list[float]

    def series(self, name: str) -> list[float]:
        """Return the column that ``series_type`` names."""
        return {"open": self.open, "high": self.high, "low": self.low, "close": self.close}[name]

    @property
    def typical_price(self) -> list[float]:
        """The mean of high, low and close of each bar."""
        return [(h + low + c) / 3 for h, low, c in zip(self.high, self.low, self.close, strict=True)]

    @property
    def true_range(self) -> list[float]:
        """The true range from the second bar on: one shorter than the other columns."""
        before = self.close[:-1]
        rest = zip(self.high[1:], self.low[1:], before, strict=True)
        return [max(high, close) - min(low, close) for high, low, close in rest]

    @property
    def directional_movements(self) -> tuple[list[float], list[float]]:
        """Directional movement up and down, from the second bar on."""
        ups, downs = [], []
        for (old_high, old_low), (high, low) in pairwise(zip(self.high, self.low, strict=True)):
            up, down = high - old_high, old_low - low
            ups.append(up if up > down and up > 0 else 0.0)
            downs.append(down if down > up and down > 0 else 0.0)
        return ups, downs


def to_columns(bars: Sequence[Bar]) -> BarColumns:
    """Return bars as columns."""
    parts = [list(part) for part in zip(*bars, strict=True)] or [[] for _ in Bar._fields]
    return BarColumns(*parts)
