"""All functions in one table."""

from __future__ import annotations

from .endpoint import Shape
from .endpoints import (
    analytics,
    calendars,
    company,
    congress,
    core_stocks,
    currencies,
    economy,
    indicators,
    indices,
    intelligence,
    options,
    quotes,
    statements,
)

_FAMILIES = (
    core_stocks,
    quotes,
    options,
    intelligence,
    analytics,
    company,
    statements,
    calendars,
    currencies,
    economy,
    indicators,
    indices,
    congress,
)

SHAPES: dict[str, Shape] = {shape.function: shape for family in _FAMILIES for shape in family.SHAPES}
