"""Middleware: what a user of the package does around each call, and how it is named in the settings."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.executor import OK
from tests.support.upstream import Upstream, notice
from toolfold import CallContext, Middleware
from toolfold.app import build_app
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError, InvalidArguments, NoData, SettingsError
from toolfold.execution.call import CallResult, load_middleware
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.settings import Settings

HERE = __name__


class Upper(Middleware):
    """Writes symbols in capitals, and refuses one of them."""

    def before(self, call: CallContext) -> None:
        """Change the arguments."""
        symbol = str(call.arguments.get("symbol", "")).upper()
        if symbol == "SECRET":
            raise InvalidArguments("SECRET is not requested here.", "Send another symbol.")
        call.arguments = {**call.arguments, "symbol": symbol}


class Named(Middleware):
    """Writes its name below what passes, so that the order shows."""

    def __init__(self, name: str = "one") -> None:
        self.name = name

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """Add a line."""
        return replace(result, body=f"{result.body}\n{self.name}")

    def error(self, call: CallContext, error: CallError) -> CallError:
        """Add a word."""
        return error.changed(problem=f"{error.problem} {self.name}")


class Plain:
    """No middleware."""


class Broken(Middleware):
    """Cannot be made."""

    def __init__(self) -> None:
        raise OSError("no such file")


Run = Callable[..., CallResult]


@pytest.fixture
def run(catalog: Catalog, clock: Clock, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEYKEYKEYKEY1234")
    settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url, "TOOLFOLD_RETRIES": "0"})
    made: dict[int, ToolExecutor] = {}

    def call(*middleware: Middleware, **arguments: Any) -> CallResult:
        key = id(middleware[0])
        if key not in made:
            made[key] = ToolExecutor(settings, clock=clock.clocks(), middleware=middleware)
        tool = tool_of(catalog, "TIME_SERIES_DAILY")
        return run_call(made[key], CallContext(catalog, tool, arguments))

    return call


def test_changed_arguments_are_what_is_validated_sent_and_cached(run: Run, upstream: Upstream) -> None:
    upper = Upper()
    assert run(upper, symbol="ibm").arguments["symbol"] == "IBM"
    assert run(upper, symbol="Ibm").cached
    assert [query["symbol"] for query in upstream.requests] == ["IBM"]


def test_a_refused_call_is_not_sent(run: Run, upstream: Upstream) -> None:
    with pytest.raises(InvalidArguments, match="not requested here"):
        run(Upper(), symbol="secret")
    assert upstream.requests == []


def test_a_changed_result_is_not_what_is_cached(run: Run, upstream: Upstream) -> None:
    upstream.replies = [OK]
    inner, outer = Named("inner"), Named("outer")
    first, second = run(outer, inner, symbol="IBM"), run(outer, inner, symbol="IBM")
    assert (first.cached, second.cached) == (False, True)
    assert first.body == second.body
    assert first.body.endswith("\ninner\nouter")
    assert first.entry is second.entry is None


def test_an_unchanged_result_keeps_what_equal_calls_computed(run: Run) -> None:
    upper = Upper()
    assert run(upper, symbol="IBM").entry is not None


def test_an_error_passes_the_middleware_that_the_call_had_entered(run: Run, upstream: Upstream) -> None:
    upstream.replies = [notice("Invalid API call.", "Error Message")]
    with pytest.raises(CallError, match=r"inner outer$"):
        run(Named("outer"), Named("inner"), symbol="IBM")
    with pytest.raises(InvalidArguments, match=r"here\. outer$"):
        run(Named("outer"), Upper(), Named("inner"), symbol="secret")


def test_the_code_of_the_error_is_the_last_one(run: Run, upstream: Upstream) -> None:
    class Nothing(Middleware):
        def error(self, call: CallContext, error: CallError) -> CallError:
            return NoData("Nothing here.", "Send another symbol.")

    upstream.replies = [(500, {}, b"")]
    with pytest.raises(NoData, match="Nothing here") as caught:
        run(Nothing(), symbol="IBM")
    assert caught.value.code == "NO_DATA"


def test_the_settings_name_the_classes_and_their_order() -> None:
    settings = Settings.from_environment({"TOOLFOLD_MIDDLEWARE": f"{HERE}:Named, {HERE}:Upper"})
    assert [type(one) for one in load_middleware(settings.middleware)] == [Named, Upper]
    assert len(build_app(settings).executor.middleware) == 2


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (f"{HERE}:Plain", "is not derived from toolfold.Middleware"),
        (f"{HERE}:Broken", "cannot be made: OSError: no such file"),
        (f"{HERE}:Missing", "has no attribute 'Missing'"),
        ("no_such_module:Class", "No module named 'no_such_module'"),
    ],
)
def test_a_name_that_cannot_be_used_ends_the_start(name: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        build_app(Settings.from_environment({"TOOLFOLD_MIDDLEWARE": name}))
