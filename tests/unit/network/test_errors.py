"""What the texts of transport errors hold."""

import time
import traceback
from typing import Any

import pytest

from toolfold.network import errors
from toolfold.network.session import HttpClient

KEY = "CANARYKEY0123456"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://host.invalid/", "https://127.0.0.1:1/", "http://localhost:99999/", "http://[::1/"],
)
def test_no_exception_holds_the_url(url: str) -> None:
    limits: dict[str, Any] = {"connect_timeout_s": 2, "deadline": time.monotonic() + 2, "max_bytes": 99}
    with pytest.raises(errors.TransportError) as caught:
        HttpClient().request("GET", f"{url}?apikey={KEY}", headers={}, **limits)
    error = caught.value
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error))
