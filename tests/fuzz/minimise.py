"""Shorten what fails while it still fails in the same way."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def minimise(found: T, shorter: Callable[[T], Iterable[T]], fails: Callable[[T], bool], max_s: float) -> T:
    """Return something like ``found`` for which ``fails`` is still true, with as little in it as is found in time.

    Args:
        found: what fails.
        shorter: gives variants with less in them.
        fails: whether a variant fails in the same way.
        max_s: seconds after which the shortest so far is good enough.
    """
    end = time.monotonic() + max_s
    progressed = True
    while progressed and time.monotonic() < end:
        progressed = False
        for variant in shorter(found):
            if time.monotonic() >= end:
                break
            if variant != found and fails(variant):
                found, progressed = variant, True
                break
    return found
