"""No caller is given what its own key would not have been given, in any order of callers and calls, over real HTTP.

Two environments share a cache file. What each caller may be given is what the mock API, called without any cache, gives
to its key: the mock API knows keys with a premium plan, with the free plan, and keys that it refuses.
"""

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.issuer import Issuer
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.catalog.json_schema import properties
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

RESOURCE = "https://tools.example.com/mcp"
OPERATORS_KEY = "OPERATORSPREMIUMKEY"
FREE, REFUSED = "free", "demo"
CALLERS = {"no key": "", "premium": "PREMIUMKEYONE", "other premium": "PREMIUMKEYTWO", "free": FREE, "refused": REFUSED}


class Call(NamedTuple):
    """A call of a tool; ``arguments`` as JSON, so that it can be a key."""

    tool: str
    arguments: str


Answer = Callable[[str, Call], Any]


def make_environment(mock_api: MockApi, cache: str, **environment: str) -> LambdaHandler:
    settings = Settings.from_environment(
        {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_CACHE": cache,
            "TOOLFOLD_CACHE_TIMEOUT_S": "5",
            **environment,
        }
    )
    return LambdaHandler(build_app(settings), configure(settings))


def ask(handler: LambdaHandler, headers: dict[str, str], call: Call) -> Any:
    """Return the answer to a call, or the code of its error; without what says how old it is."""
    given = {"tool_name": call.tool, "arguments": json.loads(call.arguments)}
    event = http_event(message("tools/call", {"name": "TOOL_CALL", "arguments": given}), headers)
    found = json.loads(handler(event)["body"])["result"]["structuredContent"]
    return found["error"]["code"] if "error" in found else found["result"]


def with_key(key: str) -> dict[str, str]:
    return {"x-api-key": key} if key else {}


@pytest.fixture(autouse=True)
def _operators_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATORS_KEY)
    monkeypatch.setenv("TOOLFOLD_LOG_LEVEL", "ERROR")


@pytest.fixture
def expected(mock_api: MockApi) -> Answer:
    """What a caller is given without a cache."""
    handler = make_environment(mock_api, "off")
    return functools.cache(lambda caller, call: ask(handler, with_key(CALLERS[caller]), call))


@pytest.fixture
def files(tmp_path: Path) -> Iterator[str]:
    return (str(tmp_path / f"cache-{number}" / "answers.sqlite") for number in itertools.count())


def all_calls(catalog: Catalog) -> list[Call]:
    """One call of each tool, and those with arguments for which a plan is needed."""
    calls = []
    for index in range(len(catalog)):
        tool = catalog.get(catalog.summary(index).name)
        assert tool is not None
        known, example = properties(tool.parameters), dict(tool.example)
        variants = [example]
        variants += [{**example, "entitlement": value} for value in ("realtime", "delayed") if "entitlement" in known]
        variants += [{**example, "outputsize": "full"}] if tool.name == "TIME_SERIES_DAILY" else []
        calls += [Call(tool.name, json.dumps(variant)) for variant in variants]
    return calls


def check(expected: Answer, caller: str, call: Call, answer: Any) -> None:
    own = expected(caller, call)
    if caller == "refused" and answer != own:
        # Data that every plan receives is shared between all keys: what a caller without any plan is given at most.
        own = expected("free", call)
    assert answer == own, (caller, call)


@pytest.mark.slow
@pytest.mark.parametrize("order", [["no key", "free", "refused"], ["free", "premium", "no key"]], ids=" then ".join)
def test_every_tool_answers_each_caller_as_its_own_key_is_answered(
    order: list[str], catalog: Catalog, mock_api: MockApi, expected: Answer, files: Iterator[str]
) -> None:
    cache = next(files)
    one, two = make_environment(mock_api, cache), make_environment(mock_api, cache)
    entitled = 0
    for call in all_calls(catalog):
        for caller, handler in zip(order, itertools.cycle([one, two]), strict=False):
            check(expected, caller, call, ask(handler, with_key(CALLERS[caller]), call))
        entitled += expected("free", call) != expected("premium", call)
    assert entitled > 50  # or this would show nothing


@pytest.mark.slow
def test_no_order_of_callers_and_calls_gives_one_what_another_is_entitled_to(
    catalog: Catalog, mock_api: MockApi, expected: Answer, files: Iterator[str]
) -> None:
    small = ("GLOBAL_QUOTE", "SYMBOL_SEARCH", "COMPANY_OVERVIEW", "REALTIME_BULK_QUOTES", "MARKET_STATUS", "CPI")
    calls = [call for call in all_calls(catalog) if call.tool in small]
    steps = st.lists(
        st.tuples(st.sampled_from(sorted(CALLERS)), st.sampled_from(calls), st.integers(0, 1)), min_size=2, max_size=12
    )

    @settings(max_examples=6, suppress_health_check=list(HealthCheck))
    @given(steps)
    def run(sequence: Sequence[tuple[str, Call, int]]) -> None:
        cache = next(files)
        environments = [make_environment(mock_api, cache) for _ in range(2)]
        for caller, call, number in sequence:
            check(expected, caller, call, ask(environments[number], with_key(CALLERS[caller]), call))

    run()


def test_principals_share_what_the_operators_key_is_given_and_nothing_of_each_others_keys(
    mock_api: MockApi, expected: Answer, files: Iterator[str]
) -> None:
    call = Call("GLOBAL_QUOTE", '{"symbol": "IBM", "entitlement": "realtime"}')
    with Issuer() as issuer:
        handler = make_environment(
            mock_api, next(files), TOOLFOLD_OAUTH_ISSUER=issuer.url, TOOLFOLD_PUBLIC_URL=RESOURCE
        )

        def answer(subject: str, key: str = "") -> Any:
            token = issuer.token(RESOURCE, sub=subject)
            return ask(handler, {"authorization": f"Bearer {token}", **with_key(key)}, call)

        mock_api.clear_requests()
        assert answer("one", "PREMIUMKEYONE") == expected("premium", call)
        assert answer("two", FREE) == "PREMIUM_ONLY"
        assert answer("two") == answer("three") == expected("no key", call)
        assert answer("two", FREE) == "PREMIUM_ONLY"
        sent = [dict(request)["apikey"] for request in mock_api.requests]
    assert sent.count(OPERATORS_KEY) == 2  # once for both principals, and once without a cache
