"""Faults of the upstream, which the mock API produces on demand."""

import re
from collections.abc import Callable

from tests.faults.scenario import KEY, OTHER_KEY, QUOTE, SERIES, Row, Scenario, all_rows, parametrize_rows, visible_text
from tests.support.ports import free_port
from toolfold.meta_tools.result import Result
from toolfold.mock_api.faults import ERROR_BODIES, FAULTS
from toolfold.mock_api.server import MockApi

PARAMETER = {"SYMBOL_SEARCH": "keywords"}


class Faulty:
    """The call that a row describes, made in a scenario with the row's settings."""

    def __init__(self, row: Row, make: Callable[..., Scenario], mock_api: MockApi) -> None:
        settings: dict[str, str] = dict(re.findall(r"`TOOLFOLD_(\w+)=([^`]+)`", row.cause))
        tool = re.search(r", ([A-Z_]{4,})", row.cause)
        symbol = re.search(r"FAULT\.\w+(\.\d+)?", row.cause)
        select = re.search(r"`select=(\w+)`", row.cause)
        self.symbol = symbol[0] if symbol else "IBM"
        self.tool = tool[1] if tool else SERIES
        self.select = {"select": select[1]} if select else {}
        self.mock_api = mock_api
        self.scenario = make(**settings)

    def __call__(self, key: str = KEY) -> Result:
        return self.scenario.call(self.tool, key, **{PARAMETER.get(self.tool, "symbol"): self.symbol}, **self.select)

    @property
    def requests(self) -> int:
        """The requests that this call has made so far."""
        return sum(any(value == self.symbol for _, value in query) for query in self.mock_api.requests)


@parametrize_rows("test_upstream")
def test_upstream(row: Row, scenario: Callable[..., Scenario], mock_api: MockApi) -> None:
    faulty = Faulty(row, scenario, mock_api)
    with faulty.scenario.concurrent_call():
        result = faulty()
    check_response(row, result)
    assert KEY not in visible_text(result)
    assert faulty.requests == int(row.requests)
    check_log(row, faulty.scenario)
    check_cached(row.cached, faulty)


@parametrize_rows("test_refused")
def test_refused(row: Row, scenario: Callable[..., Scenario]) -> None:
    port = free_port()
    stopping = scenario(f"http://127.0.0.1:{port}/query")
    for _ in range(2):  # nothing is cached: the second call makes requests again
        stopping.log_records.clear()
        check_response(row, stopping.call(QUOTE, symbol="IBM"))
        [line] = stopping.calls()
        assert vars(line)["upstream_requests"] == int(row.requests)
        check_log(row, stopping)
    with MockApi(port):
        assert not stopping.call(QUOTE, symbol="IBM").is_error


def check_response(row: Row, result: Result) -> None:
    if not result.is_error:
        expected = re.fullmatch(r"data: `(.+)`", row.response)
        assert expected is not None, result.text
        assert expected[1] in result.text
        return
    error = result.structured["error"]
    assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)


def check_log(row: Row, scenario: Scenario) -> None:
    """Check that the log has one record for the call, with its code and message, and nothing else."""
    code = row.log.rpartition(" ")[2].strip("`")
    lines = [vars(line) for line in scenario.calls()]
    failed = [(line["code"], line["error_message"]) for line in lines if line["code"] != "OK"]
    assert failed == ([] if code == "OK" else [(code, row.message)])
    assert scenario.warnings() == []


def check_cached(cached: str, faulty: Faulty) -> None:
    """Check what the row says is cached: repeat the call, repeat it later, and with another key."""
    scenario, clock = faulty.scenario, faulty.scenario.clock
    before = faulty.requests
    if cached == "nothing":
        faulty()
        assert faulty.requests > before
    elif cached == "as data":
        again = faulty()
        assert again.is_error or again.structured["cached"]
        assert faulty.requests == before
    elif found := re.fullmatch(r"(\d+) s, for its key", cached):
        clock.now += int(found[1]) / 2
        faulty()
        assert faulty.requests == before
        faulty(OTHER_KEY)
        assert faulty.requests == before + 1
        clock.now += int(found[1])
        faulty()
        assert faulty.requests == before + 2
    elif found := re.fullmatch(r"the key, (\d+) s", cached):
        clock.now += int(found[1]) / 2
        refused = scenario.call("CPI")
        assert refused.structured["error"]["code"] == "RATE_LIMITED"
        assert refused.structured["error"]["retry_after_s"] >= 1
        clock.now += int(found[1])
        assert not scenario.call("CPI").is_error
    else:
        spaced = re.fullmatch(r"the key, (\d+) a second", cached)
        assert spaced is not None, cached
        clock.now += 10
        assert not scenario.call("CPI").is_error
        already = sum(clock.slept)
        assert not scenario.call("WTI").is_error
        assert 0 < sum(clock.slept) - already <= 1 / int(spaced[1]) + 0.01


def test_every_fault_of_the_mock_api_is_on_the_page() -> None:
    shown = {name.lower() for row in all_rows() for name in re.findall(r"FAULT\.(\w+)", row.cause)}
    assert shown == set(FAULTS)
    assert set(ERROR_BODIES) <= shown


def test_a_connection_with_unread_bytes_is_not_reused(scenario: Callable[..., Scenario], mock_api: MockApi) -> None:
    here = scenario()
    for symbol in ("IBM", "AAPL", "MSFT", "KO", "T"):
        here.call(symbol="FAULT.LENGTH_TOO_SMALL")
        assert not here.call(QUOTE, symbol=symbol).is_error
