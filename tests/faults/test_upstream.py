"""The upstream fails in every way it can; the mock API does it on demand."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.faults.docs_table import Row, all_rows, parametrize_rows
from tests.faults.scenario import KEY, OTHER_KEY, QUOTE, SERIES, Scenario, whole
from toolfold.meta_tools.result import Result
from toolfold.mock_api.faults import ERROR_BODIES, FAULTS
from toolfold.mock_api.server import MockApi

PARAMETER = {"SYMBOL_SEARCH": "keywords"}


class Faulty:
    """The call that a row tells of, made in a scene with the row's settings."""

    def __init__(self, row: Row, make: Callable[..., Scenario], mock_api: MockApi) -> None:
        settings: dict[str, str] = dict(re.findall(r"`TOOLFOLD_(\w+)=([^`]+)`", row.made_by))
        tool = re.search(r", ([A-Z_]{4,})", row.made_by)
        symbol = re.search(r"FAULT\.\w+", row.made_by)
        select = re.search(r"`select=(\w+)`", row.made_by)
        self.symbol = symbol[0] if symbol else "IBM"
        self.tool = tool[1] if tool else SERIES
        self.select = {"select": select[1]} if select else {}
        self.mock_api = mock_api
        self.scenario = make(**settings)

    def __call__(self, key: str = KEY) -> Result:
        return self.scenario.call(self.tool, key, **{PARAMETER.get(self.tool, "symbol"): self.symbol}, **self.select)

    @property
    def requests(self) -> int:
        """Requests that this call has made so far."""
        return sum(any(value == self.symbol for _, value in query) for query in self.mock_api.requests)


@parametrize_rows("test_upstream")
def test_upstream(row: Row, scenario: Callable[..., Scenario], mock_api: MockApi) -> None:
    faulty = Faulty(row, scenario, mock_api)
    with faulty.scenario.concurrent_call():
        result = faulty()
    assert_seen(row, result)
    assert KEY not in whole(result)
    assert faulty.requests == int(row.requests)
    assert_told(row, faulty.scenario)
    assert_held(row.held, faulty)


@parametrize_rows("test_refused")
def test_refused(row: Row, scenario: Callable[..., Scenario]) -> None:
    with MockApi() as stopped:
        url = stopped.url
    stopping = scenario(url)
    for _ in range(2):  # nothing is held: the second call tries anew
        stopping.told.clear()
        assert_seen(row, stopping.call(QUOTE, symbol="IBM"))
        [line] = stopping.calls()
        assert vars(line)["upstream_requests"] == int(row.requests)
        assert_told(row, stopping)
    with MockApi(port=int(url.rpartition(":")[2].partition("/")[0])):
        assert not stopping.call(QUOTE, symbol="IBM").is_error


def assert_seen(row: Row, result: Result) -> None:
    if not result.is_error:
        expected = re.fullmatch(r"data: `(.+)`", row.sees)
        assert expected is not None, result.text
        assert expected[1] in result.text
        return
    error = result.structured["error"]
    assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.sentence, row.next_step)


def assert_told(row: Row, scenario: Scenario) -> None:
    """One line for the call, with its code and its sentence, and nothing else."""
    code = row.operator.rpartition(" ")[2].strip("`")
    lines = [(vars(line)["code"], vars(line)["problem"]) for line in scenario.calls() if vars(line)["code"] != "OK"]
    assert lines == ([] if code == "OK" else [(code, row.sentence)])
    assert scenario.warnings() == []


def assert_held(held: str, faulty: Faulty) -> None:
    """What the row says is kept: the same call again, later, and by another key."""
    scenario, clock = faulty.scenario, faulty.scenario.clock
    before = faulty.requests
    if held == "nothing":
        faulty()
        assert faulty.requests > before
    elif held == "as data":
        again = faulty()
        assert again.is_error or again.structured["cached"]
        assert faulty.requests == before
    elif found := re.fullmatch(r"(\d+) s, for its key", held):
        clock.now += int(found[1]) - 5
        faulty()
        assert faulty.requests == before
        faulty(OTHER_KEY)
        assert faulty.requests == before + 1
        clock.now += 6
        faulty()
        assert faulty.requests == before + 2
    elif found := re.fullmatch(r"the key, (\d+) s", held):
        clock.now += int(found[1]) - 2
        refused = scenario.call("CPI")
        assert refused.structured["error"]["code"] == "RATE_LIMITED"
        assert refused.structured["error"]["retry_after_s"] >= 1
        clock.now += 3
        assert not scenario.call("CPI").is_error
    else:
        spaced = re.fullmatch(r"the key, (\d+) a second", held)
        assert spaced is not None, held
        clock.now += 10
        assert not scenario.call("CPI").is_error
        already = sum(clock.slept)
        assert not scenario.call("WTI").is_error
        assert 0 < sum(clock.slept) - already <= 1 / int(spaced[1]) + 0.01


def test_every_fault_of_the_mock_api_is_on_the_page() -> None:
    shown = {name.lower() for row in all_rows() for name in re.findall(r"FAULT\.(\w+)", row.made_by)}
    assert shown == set(FAULTS)
    assert set(ERROR_BODIES) <= shown


def test_a_connection_with_bytes_left_over_is_not_used_again(
    scenario: Callable[..., Scenario], mock_api: MockApi
) -> None:
    here = scenario()
    for number in range(5):
        here.call(symbol="FAULT.LENGTH_TOO_SMALL")
        assert not here.call(QUOTE, symbol=f"IBM{number}").is_error
