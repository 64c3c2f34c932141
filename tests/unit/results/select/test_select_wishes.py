"""Words for what no column has: the error has a form that returns it."""

from __future__ import annotations

import pytest

from tests.unit.results.select.test_guesses import selected
from toolfold.errors import InvalidArguments


@pytest.mark.parametrize(
    "guess",
    ["daily returns", "biggest drop", "max drawdown", "moving average", "volatility", "performance", "describe", "yoy",
     "reverse", "corr(close, volume)", "correlation(close, volume)", "log(close)"],
)  # fmt: skip
def test_form_in_the_error_can_be_run(guess: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        selected("daily", guess)
    form = caught.value.suggestion.removeprefix("Write ").partition(". ")[0].removesuffix(".")
    assert selected("daily", form).tables[0].rows
