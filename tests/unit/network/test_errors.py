"""What the texts of transport errors hold."""

import traceback

import pytest

from tests.support.http import KEY, fetch
from toolfold.network import errors


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://host.invalid/", "https://127.0.0.1:1/", "http://localhost:99999/", "http://[::1/"],
)
def test_no_exception_holds_the_url(url: str) -> None:
    with pytest.raises(errors.TransportError) as caught:
        fetch(f"{url}?apikey={KEY}", within_s=2)
    error = caught.value
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error))
