"""Records do what frozen dataclasses do, as far as we ask for it."""

from __future__ import annotations

import pytest

from toolfold.calling.keys import Presented
from toolfold.records import Record
from toolfold.wire.http import Request


class Quote(Record):
    """A price of a symbol."""

    symbol: str
    price: float = 0.0

    def doubled(self) -> float:
        return 2 * self.price


def test_values_are_given_by_place_by_name_or_by_default() -> None:
    assert Quote("IBM", 3.5) == Quote(price=3.5, symbol="IBM") == Quote("IBM", price=3.5)
    assert Quote("IBM").price == 0.0
    assert Quote("IBM", 3.5).doubled() == 7.0


def test_equal_values_are_equal_records_and_have_one_hash() -> None:
    assert {Quote("IBM"): 1}[Quote("IBM", 0.0)] == 1
    assert Quote("IBM") != Quote("AAPL")
    assert Quote("IBM") != ("IBM", 0.0)


def test_a_record_cannot_be_changed_but_another_made_of_it() -> None:
    quote = Quote("IBM", 3.5)
    with pytest.raises(AttributeError, match="cannot be changed"):
        quote.price = 4.0  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be changed"):
        del quote.price
    assert quote.but(price=4.0) == Quote("IBM", 4.0)
    assert quote == Quote("IBM", 3.5)


@pytest.mark.parametrize(
    ("values", "named", "said"),
    [
        ((), {}, "symbol"),
        (("IBM",), {"volume": 1}, "volume"),
        (("IBM", 1.0, 2.0), {}, "too many"),
        (("IBM",), {"symbol": "AAPL"}, "twice"),
    ],
)
def test_what_does_not_fit_its_fields_is_refused(
    values: tuple[object, ...], named: dict[str, object], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        Quote(*values, **named)


def test_what_it_says_of_itself_leaves_secrets_out() -> None:
    assert repr(Quote("IBM")) == "Quote(symbol='IBM', price=0.0)"
    assert repr(Presented("key-1", "key-2", "key-3")) == "Presented()"
    shown = repr(Request("POST", (("authorization", "Bearer key-1"),), b"key-2", "key-3"))
    assert shown == "Request(method='POST', deadline=None)"
