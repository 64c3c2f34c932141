"""Seeded draws: the same names give the same numbers, in every process and on every day."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

T = TypeVar("T")


class SeededRandom:
    """A private stream of numbers, named by whatever it is drawn for.

    Only ``Random.random`` is used: it is the one method whose sequence Python promises to keep between versions.
    """

    __slots__ = ("random",)

    def __init__(self, *names: object) -> None:
        digest = sha256("\x1f".join(map(str, names)).encode()).digest()
        self.random = Random(int.from_bytes(digest[:8], "big")).random  # noqa: S311 - nothing secret: repeatable on purpose

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def randint(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int((high - low + 1) * self.random())

    def normal(self) -> float:
        """Roughly normal, mean 0 and deviation 1, never beyond 3.5."""
        random = self.random
        return (random() + random() + random() + random() - 2.0) * 1.7320508

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def choice(self, choices: Sequence[T]) -> T:
        return choices[int(len(choices) * self.random())]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """``count`` different entries, in a drawn order."""
        pool = list(choices)
        return [pool.pop(int(len(pool) * self.random())) for _ in range(min(count, len(pool)))]
