"""Properties of the workload, and the counts of a replay."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from random import Random

import bpe_openai
import pytest

from benchmarks.calls import replay, report
from benchmarks.calls.replay import PassThrough, Toolfold, one_key
from benchmarks.calls.workload import (
    LIVE_PRICES,
    REQUEST_MIX,
    SUBJECTS,
    WRONG_ARGUMENTS,
    Call,
    fill,
    generate_calls,
    zipf,
)
from tests.support.clocks import Clock
from toolfold.catalog.model import Catalog
from toolfold.execution import validation
from toolfold.results.select import grammar

DAY = generate_calls()


@pytest.fixture(scope="module")
def memoized() -> Iterator[None]:
    with replay.memoized_responses():
        yield


def test_the_calls_depend_on_the_seed_alone() -> None:
    assert generate_calls() == DAY
    assert generate_calls(seed=1) != DAY
    assert len(DAY) == 2000


def test_calls_are_in_the_order_of_time_within_one_day() -> None:
    times = [call.at for call in DAY]
    assert times == sorted(times)
    assert 6 * 3600 <= times[0] < times[-1] < 24 * 3600
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) < 1  # some at once


def test_every_call_is_valid_unless_it_is_of_kind_wrong(catalog: Catalog) -> None:
    for call in DAY:
        tool = catalog.get(call.tool)
        assert tool is not None
        problems = validation.validate_arguments(tool.parameters, tool.call, call.arguments)[1]
        assert bool(problems) == (call.kind == "wrong"), call
        if call.kind in ("data", "premium"):
            assert (tool.access == "premium") == (call.kind == "premium"), call
        grammar.parse_select(call.select)


def test_subjects_follow_zipf() -> None:
    random, names = Random(5), SUBJECTS["stock"]
    assert len(set(names)) == 60
    drawn = Counter(zipf(random, names) for _ in range(60_000))
    total = sum(1 / place for place in range(1, 61))
    for place in (1, 2, 5, 10, 30, 60):
        expected = 60_000 / place / total
        assert drawn[names[place - 1]] == pytest.approx(expected, rel=0.15)


def test_well_known_symbols_are_requested_most() -> None:
    pattern = Counter(call.arguments.get("symbol") for call in DAY)
    names = SUBJECTS["stock"]
    assert sum(pattern[name] for name in names[:6]) > 2 * sum(pattern[name] for name in names[-30:])


def test_sessions_repeat_series_and_prices() -> None:
    about = Counter((call.user, call.tool, str(call.arguments)) for call in DAY if call.select)
    assert sum(count > 1 for count in about.values()) > 100
    seen: dict[tuple[int, str, str], float] = {}
    again = 0
    for call in (call for call in DAY if call.tool in LIVE_PRICES):
        key = call.user, call.tool, str(call.arguments)
        again += key in seen and 60 <= call.at - seen[key] < 1800
        seen[key] = call.at
    assert again > 50


def test_a_wrong_call_is_followed_by_a_valid_one() -> None:
    wrong = [call for call in DAY if call.kind == "wrong"]
    assert {call.tool for call in wrong} <= set(WRONG_ARGUMENTS)
    for call in wrong[:20]:
        after = (later for later in DAY if later.user == call.user and call.at < later.at < call.at + 900)
        assert any(later.tool == call.tool and later.kind != "wrong" for later in after), call


@pytest.mark.slow
def test_every_select_of_the_mix_finds_its_part(memoized: None) -> None:
    clock = Clock(replay.DAY)
    calls = [
        Call(0, 0, pattern.tool, fill(pattern.arguments, SUBJECTS[pattern.subject][0]), wanted)
        for pattern in REQUEST_MIX
        for wanted in pattern.selects or ("",)
    ]
    with replay.serve_mock_api(clock, None) as upstream:
        found = replay.replay(calls, upstream, clock, Toolfold(upstream.url, clock), one_key)
    assert [one.output.text for one in found if one.output.code] == []
    assert [one.call for one in found if one.output.preview and one.call.select] == []


@pytest.mark.slow
def test_sixty_calls_need_fewer_requests_and_tokens_than_pass_through(memoized: None) -> None:
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
    assert {one.requests for one in ours if one.output.cached} == {0}
    waited = [one.seconds - one.output.seconds for one in ours if one.output.cached]
    assert waited == pytest.approx([0] * len(waited))


def test_pass_through_gets_25_responses_a_day_of_the_free_plan(memoized: None) -> None:
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
    replay._count_tokens.cache_clear()
    assert replay.tokens(text) == len(bpe_openai.get_encoding("o200k_base").encode(text))
