"""Seeded draws: the same names give the same numbers, in every process and on every day."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A private stream of numbers, named by whatever it is drawn for.

    Only ``Random.random`` is used: it is the one method whose sequence Python promises to keep between versions.
    """

    __slots__ = ("unit",)

    def __init__(self, *names: object) -> None:
        digest = sha256("\x1f".join(map(str, names)).encode()).digest()
        self.unit = Random(int.from_bytes(digest[:8], "big")).random  # noqa: S311 - nothing secret: repeatable on purpose

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.unit()

    def integer(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int((high - low + 1) * self.unit())

    def bell(self) -> float:
        """Roughly normal, mean 0 and deviation 1, never beyond 3.5."""
        unit = self.unit
        return (unit() + unit() + unit() + unit() - 2.0) * 1.7320508

    def chance(self, probability: float) -> bool:
        return self.unit() < probability

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(len(choices) * self.unit())]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """``count`` different entries, in a drawn order."""
        pool = list(choices)
        return [pool.pop(int(len(pool) * self.unit())) for _ in range(min(count, len(pool)))]
