"""The trace is what it says, and replaying it counts what it should."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from random import Random

import bpe_openai
import pytest

from tests.benchmarks.calls import replay, report
from tests.benchmarks.calls.replay import PassThrough, Toolfold, one_key
from tests.benchmarks.calls.request_mix import ASKED, SUBJECTS, WRONG
from tests.benchmarks.calls.trace import LIVE, Call, fill, trace, zipf
from tests.support.clocks import Clock
from toolfold.catalog.model import Catalog
from toolfold.execution import validation
from toolfold.results.select import parser

DAY = trace()


@pytest.fixture(scope="module")
def remembered() -> Iterator[None]:
    with replay.memoized_responses():
        yield


def test_a_trace_is_the_same_every_time_and_another_one_with_another_seed() -> None:
    assert trace() == DAY
    assert trace(seed=1) != DAY
    assert len(DAY) == 2000


def test_calls_come_in_the_order_of_time_within_one_day() -> None:
    times = [call.at for call in DAY]
    assert times == sorted(times)
    assert 6 * 3600 <= times[0] < times[-1] < 24 * 3600
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) < 1  # some at once


def test_every_call_fits_its_tool_or_is_meant_not_to(catalog: Catalog) -> None:
    for call in DAY:
        tool = catalog.get(call.tool)
        assert tool is not None
        problems = validation.validate_arguments(tool.parameters, tool.call, call.arguments)[1]
        assert bool(problems) == (call.kind == "wrong"), call
        if call.kind in ("data", "premium"):
            assert (tool.access == "premium") == (call.kind == "premium"), call
        parser.parse_select(call.select)


def test_subjects_follow_zipf() -> None:
    random, names = Random(5), SUBJECTS["stock"]
    assert len(set(names)) == 60
    drawn = Counter(zipf(random, names) for _ in range(60_000))
    total = sum(1 / place for place in range(1, 61))
    for place in (1, 2, 5, 10, 30, 60):
        expected = 60_000 / place / total
        assert drawn[names[place - 1]] == pytest.approx(expected, rel=0.15)


def test_the_best_known_are_asked_for_most() -> None:
    asked = Counter(call.arguments.get("symbol") for call in DAY)
    names = SUBJECTS["stock"]
    assert sum(asked[name] for name in names[:6]) > 2 * sum(asked[name] for name in names[-30:])


def test_agents_ask_several_questions_about_one_series_and_prices_again() -> None:
    about = Counter((call.user, call.tool, str(call.arguments)) for call in DAY if call.select)
    assert sum(count > 1 for count in about.values()) > 100
    seen: dict[tuple[int, str, str], float] = {}
    again = 0
    for call in (call for call in DAY if call.tool in LIVE):
        key = call.user, call.tool, str(call.arguments)
        again += key in seen and 60 <= call.at - seen[key] < 1800
        seen[key] = call.at
    assert again > 50


def test_what_is_wrong_is_asked_rightly_next() -> None:
    wrong = [call for call in DAY if call.kind == "wrong"]
    assert {call.tool for call in wrong} <= set(WRONG)
    for call in wrong[:20]:
        after = (later for later in DAY if later.user == call.user and call.at < later.at < call.at + 900)
        assert any(later.tool == call.tool and later.kind != "wrong" for later in after), call


@pytest.mark.slow
def test_every_part_that_is_asked_for_is_there(remembered: None) -> None:
    clock = Clock(replay.DAY)
    calls = [
        Call(0, 0, asked.tool, fill(asked.arguments, SUBJECTS[asked.subject][0]), wanted)
        for asked in ASKED
        for wanted in asked.selects or ("",)
    ]
    with replay.serve_mock_api(clock, None) as upstream:
        found = replay.replay(calls, upstream, clock, Toolfold(upstream.url, clock), one_key)
    assert [one.told.text for one in found if one.told.code] == []
    assert [one.call for one in found if one.told.preview and one.call.select] == []


@pytest.mark.slow
def test_sixty_calls_cost_fewer_requests_and_tokens_than_passed_through(remembered: None) -> None:
    calls = [call for call in DAY if call.arguments.get("symbol") in SUBJECTS["stock"][:2]][:60]
    days = []
    for make in (Toolfold, lambda url, _: PassThrough(url)):
        clock = Clock(replay.DAY)
        with replay.serve_mock_api(clock, None) as upstream:
            days.append(replay.replay(calls, upstream, clock, make(upstream.url, clock), one_key))
    ours, theirs = days
    assert report.requests(theirs) == 60
    assert report.requests(ours) < 50
    assert report.read(ours) * 10 < report.read(theirs)
    assert [one.call for one in report.answered(ours)] == [one.call for one in report.answered(theirs)]
    assert all(one.seconds == pytest.approx(replay.LATENCY_S) for one in theirs)
    assert {one.requests for one in ours if one.told.cached} == {0}
    waited = [one.seconds - one.told.seconds for one in ours if one.told.cached]
    assert waited == pytest.approx([0] * len(waited))


def test_the_free_plan_gives_25_answers_a_day_to_who_passes_through(remembered: None) -> None:
    calls = [Call(n * 60.0, 0, "GLOBAL_QUOTE", {"symbol": "IBM"}) for n in range(40)]
    counted = []
    for make in (Toolfold, lambda url, _: PassThrough(url)):
        clock = Clock(replay.DAY)
        with replay.serve_mock_api(clock, "free") as upstream:
            day = replay.replay(calls, upstream, clock, make(upstream.url, clock), one_key)
        counted.append((len(report.answered(day)), report.requests(day)))
    assert counted == [(40, 1), (25, 40)]


def test_long_texts_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        f'{{"2026-01-{n % 30:02}": {{"1. open": "{n * 7919 % 9973}.{n:04}", "név": "größer"}}}},\n' for n in range(400)
    )
    text = "".join(rows)
    monkeypatch.setattr(replay, "_CHUNK", 700)
    replay._counted.cache_clear()
    assert replay.tokens(text) == len(bpe_openai.get_encoding("o200k_base").encode(text))
