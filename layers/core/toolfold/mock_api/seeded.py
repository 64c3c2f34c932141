"""Random numbers from a seed, which are the same in every process, in every version of Python and on every day."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Seeded:
    """Random numbers whose seed is a sequence of names.

    Only ``Random.random`` is used: it is the one method whose sequence Python promises to keep between versions.
    """

    __slots__ = ("random",)

    def __init__(self, *names: object) -> None:
        digest = sha256("\x1f".join(map(str, names)).encode()).digest()
        self.random = Random(int.from_bytes(digest[:8], "big")).random  # noqa: S311 - repeatable on purpose

    def uniform(self, low: float, high: float) -> float:
        """Return a number between ``low`` and ``high``."""
        return low + (high - low) * self.random()

    def integer(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int((high - low + 1) * self.random())

    def choice(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[int(len(choices) * self.random())]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different choices, in random order."""
        pool = list(choices)
        return [pool.pop(int(len(pool) * self.random())) for _ in range(min(count, len(pool)))]
