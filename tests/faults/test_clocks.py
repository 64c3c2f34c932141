"""Clocks that jump: the time of day, corrected by the network, and the monotonic one of an environment that slept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.faults.aws import BUCKET, TABLE, Aws
from tests.faults.docs_table import Row, all_rows, walks
from tests.faults.scenario import OTHER_KEY, Scene
from tests.support.upstream import CSV, Reply, Upstream, said
from toolfold.build.publisher import publish
from toolfold.catalog import store as stores
from toolfold.catalog.store import S3Store, bundled_path
from toolfold.meta_tools.result import Result

HOUR, YEAR = 3600, 365 * 86400
OK: Reply = (200, {}, CSV.encode())
DAILY = said("our standard API rate limit is 25 requests per day")


class Times:
    """Each clock of a scene, moved without the other."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def wall(self, seconds: float) -> None:
        self.scene.clock.now += seconds
        self.scene.clock._start += seconds

    def monotonic(self, seconds: float) -> None:
        self.scene.clock._start -= seconds


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(OK) as running:
        yield running


Make = Callable[..., Scene]


def forward_over_a_held_answer(scene: Scene, times: Times, upstream: Upstream) -> Result:
    scene.call("CPI")
    times.wall(YEAR)
    return scene.call("CPI")


def backward_over_a_held_answer(scene: Scene, times: Times, upstream: Upstream) -> Result:
    scene.call("CPI")
    times.wall(-HOUR)
    return scene.call("CPI")


def a_little_backward(scene: Scene, times: Times, upstream: Upstream) -> Result:
    scene.call("CPI")
    times.wall(-60)
    result = scene.call("CPI")
    assert result.structured["cached"]
    assert result.structured["age_s"] == 0
    return result


def ahead_when_the_day_was_used_up(scene: Scene, times: Times, upstream: Upstream) -> Result:
    upstream.replies = [DAILY, OK]
    times.wall(YEAR)
    assert scene.call("CPI").structured["error"]["code"] == "RATE_LIMITED"
    times.wall(-YEAR)
    return scene.call("CPI")


def ahead_when_too_fast(scene: Scene, times: Times, upstream: Upstream) -> Result:
    upstream.replies = [said("spreading out your free API requests more sparingly (1 request per second)"), OK]
    times.wall(YEAR)
    scene.call("CPI")
    times.wall(-YEAR)
    upstream.asked.clear()
    result = scene.call("WTI")
    assert sum(scene.clock.slept) <= 4
    return result


def asleep_over_another_try(scene: Scene, times: Times, upstream: Upstream) -> Result:
    def busy(query: dict[str, str]) -> Reply:
        times.monotonic(HOUR)
        return 503, {}, b""

    upstream.replies = [busy]
    return scene.call("CPI")


def asleep_while_it_is_answered(scene: Scene, times: Times, upstream: Upstream) -> Result:
    def late(query: dict[str, str]) -> Reply:
        times.monotonic(HOUR)
        return OK

    upstream.replies = [late]
    return scene.call("CPI")


def back_while_a_source_is_left_alone(scene: Scene, times: Times, upstream: Upstream) -> Result:
    times.monotonic(HOUR)
    upstream.replies = [(500, {}, b"")]
    for _ in range(scene.settings.breaker_failures):
        scene.call("CPI")
    assert scene.call("CPI").structured["error"]["retry_after_s"] == 30
    times.monotonic(-HOUR)
    upstream.replies = [OK]
    upstream.asked.clear()
    return scene.call("CPI")


JUMPS = {
    "time of day forward, an answer held": forward_over_a_held_answer,
    "time of day backward, an answer held": backward_over_a_held_answer,
    "time of day a minute backward": a_little_backward,
    "time of day ahead when the day's calls were used up": ahead_when_the_day_was_used_up,
    "time of day ahead when calls were too fast": ahead_when_too_fast,
    "monotonic clock forward before another try": asleep_over_another_try,
    "monotonic clock forward during a request": asleep_while_it_is_answered,
    "monotonic clock backward, source left alone": back_while_a_source_is_left_alone,
}


@walks("test_jump")
def test_jump(row: Row, scene: Make, upstream: Upstream) -> None:
    here = scene(upstream.url)
    result = JUMPS[row.fault](here, Times(here), upstream)
    if row.code == "OK":
        assert not result.is_error, result.text
        assert result.structured["result"]["rows"] == [["2026-01-01", 1.5]]
        assert result.structured["age_s"] == 0
    else:
        error = result.structured["error"]
        assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.sentence, row.next_step)
    assert len(upstream.asked) == int(row.requests)
    assert f"`call` `{vars(here.calls()[-1])['code']}`" == row.operator
    assert here.warnings() == []
    upstream.replies = [OK]
    assert not here.call("CPI").is_error
    assert not here.call("COPPER", OTHER_KEY).is_error


@walks("test_jump_elsewhere")
def test_jump_elsewhere(row: Row, scene: Make, upstream: Upstream, aws: Aws) -> None:
    """What a machine whose clock is ahead leaves in the shared table."""
    place = {"CACHE": f"dynamodb://{TABLE}", "CACHE_TIMEOUT_S": "5"}
    wrong, right = (scene(upstream.url, **place) for _ in range(2))
    Times(wrong).wall(YEAR)
    if "used up" in row.fault:
        upstream.replies = [DAILY]
        assert wrong.call("CPI").is_error
    else:
        upstream.replies = [(200, {}, b"timestamp,value\n2026-01-01,666\n")]
        wrong.call("CPI")
    upstream.replies = [OK]
    upstream.asked.clear()
    assert right.call("CPI").structured["result"]["rows"] == [["2026-01-01", 1.5]]
    third = scene(upstream.url, **place)
    assert third.call("CPI").structured["cached"]  # the right one is in its place
    assert len(upstream.asked) == int(row.requests)
    assert right.warnings() == []


def test_a_file_of_a_clock_that_was_ahead_is_written_over(scene: Make, upstream: Upstream, tmp_path: object) -> None:
    place = {"CACHE": f"{tmp_path}/answers.sqlite"}
    wrong = scene(upstream.url, **place)
    Times(wrong).wall(YEAR)
    wrong.call("CPI")
    assert not scene(upstream.url, **place).call("CPI").structured["cached"]
    assert scene(upstream.url, **place).call("CPI").structured["cached"]


@walks("test_back_while_aws_is_left_alone")
def test_back_while_aws_is_left_alone(
    row: Row, scene: Make, make_scene: Make, upstream: Upstream, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment whose monotonic clock comes back earlier asks at once what it would have left alone."""
    if "cache" in row.fault:
        here = scene(upstream.url, CACHE="dynamodb://nobody", CACHE_TIMEOUT_S="5")
        Times(here).monotonic(HOUR)
        here.call("CPI")
        asked = len(aws.faulty.asked)
        Times(here).monotonic(-HOUR)
        assert not here.call("WTI").is_error
        assert len(aws.faulty.asked) > asked
        assert len(upstream.asked) == 2 * int(row.requests)
        return
    publish(bundled_path().read_bytes(), f"s3://{BUCKET}")
    store = S3Store(f"s3://{BUCKET}", max_age_s=60)
    here = make_scene(store)
    monkeypatch.setattr(stores, "time", SimpleNamespace(monotonic=here.clock.monotonic))
    Times(here).monotonic(HOUR)
    store()
    asked = len(aws.faulty.asked)
    Times(here).monotonic(-HOUR)
    assert store()
    assert len(aws.faulty.asked) == asked + 1


def test_all_that_is_prepared_is_on_the_page() -> None:
    assert {row.fault for row in all_rows() if row.test == "`test_jump`"} == set(JUMPS)
