"""Number of examples of a property test, and of the values of a test over all tools."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def examples(few: int, *, many: int, slow_to_make: bool = False) -> settings:
    """Return settings with ``few`` examples in every run and ``many`` in ``make explore``."""
    long = settings.get_current_profile_name() == "long"
    return settings(max_examples=many if long else few, suppress_health_check=list(HealthCheck) if slow_to_make else [])


def each_tenth(values: Iterable[Any]) -> list[Any]:
    """Return parameters for a test of every value, of which ``make test`` takes each tenth and ``make test-slow`` all.

    For values that are alike, as the tools of one catalog are: what breaks one breaks similar ones.
    """
    return [pytest.param(value, marks=[pytest.mark.slow] if at % 10 else []) for at, value in enumerate(values)]
