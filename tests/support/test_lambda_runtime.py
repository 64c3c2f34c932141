"""The imitation of Lambda behaves as Lambda does, shown with a small handler."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built_function import LAMBDA_PYTHON, NEEDS_LAMBDA_PYTHON
from tests.support.lambda_runtime import FunctionError, LambdaRuntime

pytestmark = [pytest.mark.e2e, NEEDS_LAMBDA_PYTHON]

HANDLER = """
import os, sys, time
import greeting

def handler(event, context):
    if "raise" in event:
        raise ValueError(event["raise"])
    if "exit" in event:
        os._exit(event["exit"])
    if "sleep" in event:
        time.sleep(event["sleep"])
    if "big" in event:
        return "x" * event["big"]
    print("seen", event.get("say"))
    left = context.get_remaining_time_in_millis()
    return {"say": greeting.WORD, "pid": os.getpid(), "left_ms": left, "variable": os.environ.get("VARIABLE"),
            "inherited": "RUN_E2E" in os.environ, "method": event.get("requestContext", {}).get("http", {})}
"""


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[LambdaRuntime]:
    function, layer = tmp_path / "function", tmp_path / "layer"
    (layer / "python").mkdir(parents=True)
    (layer / "python/greeting.py").write_text("WORD = 'hello'\n")
    function.mkdir()
    (function / "app.py").write_text(HANDLER)
    with LambdaRuntime(function=function, layers=[layer], python=LAMBDA_PYTHON, timeout_s=5) as runtime:
        yield runtime


def test_one_process_serves_many_events_in_a_clean_environment(runtime: LambdaRuntime) -> None:
    first, second = runtime.invoke({"say": "one"}), runtime.invoke({"say": "two"})

    assert first["say"] == "hello"
    assert first["pid"] == second["pid"]
    assert not first["inherited"]
    assert 0 < first["left_ms"] <= 5000
    assert first["pid"] == runtime.pid
    assert len(runtime.init_times_s) == 1
    runtime.stop()
    assert runtime.log == ["seen one", "seen two"]


def test_an_exception_in_the_handler_keeps_the_process(runtime: LambdaRuntime) -> None:
    with pytest.raises(FunctionError) as caught:
        runtime.invoke({"raise": "no such thing"})

    assert caught.value.error_type == "ValueError"
    assert caught.value.payload["errorMessage"] == "no such thing"
    assert runtime.invoke({})["say"] == "hello"
    assert len(runtime.init_times_s) == 1


def test_the_event_after_a_crash_gets_a_new_process(runtime: LambdaRuntime) -> None:
    before = runtime.invoke({})["pid"]
    with pytest.raises(FunctionError, match=r"Runtime\.ExitError.*status 3"):
        runtime.invoke({"exit": 3})

    assert runtime.invoke({})["pid"] != before
    assert len(runtime.init_times_s) == 2


def test_a_handler_that_exceeds_its_timeout_is_ended(runtime: LambdaRuntime) -> None:
    before = runtime.invoke({})["pid"]
    runtime.timeout_s = 0.3
    with pytest.raises(FunctionError, match=r"timed out after 0\.30 seconds"):
        runtime.invoke({"sleep": 30})

    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_an_answer_above_six_megabytes_is_refused(runtime: LambdaRuntime) -> None:
    assert len(runtime.invoke({"big": 6_000_000})) == 6_000_000
    with pytest.raises(FunctionError, match="ResponseSizeTooLarge"):
        runtime.invoke({"big": 6_300_000})


def test_a_failed_import_of_the_handler_is_reported(runtime: LambdaRuntime, tmp_path: Path) -> None:
    (tmp_path / "layer/python/greeting.py").unlink()
    with pytest.raises(FunctionError, match="No module named 'greeting'"):
        runtime.invoke({})


def test_a_changed_environment_reaches_the_next_process(runtime: LambdaRuntime) -> None:
    assert runtime.invoke({})["variable"] is None
    runtime.update_environment(VARIABLE="set")
    assert runtime.invoke({})["variable"] == "set"


def test_http_reaches_the_handler_as_an_api_gateway_event(runtime: LambdaRuntime) -> None:
    with runtime.serve_http("/mcp") as url:
        with urllib.request.urlopen(urllib.request.Request(url, data=b"{}", method="DELETE")) as answer:
            assert json.load(answer)["method"]["method"] == "DELETE"
        with pytest.raises(urllib.error.HTTPError, match="404") as caught:
            urllib.request.urlopen(url + "/below")
        caught.value.close()


def test_the_time_of_an_invocation_is_that_of_the_last_one(runtime: LambdaRuntime) -> None:
    runtime.invoke({"sleep": 0.2})
    assert 0.2 <= runtime.duration_s < 2

    runtime.invoke({})
    assert 0 < runtime.duration_s < 0.2


def test_a_failed_invocation_is_a_500_without_its_reason(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def handler(event, context): raise ValueError('secret')\n")
    with (
        LambdaRuntime(function=tmp_path, layers=[], python=LAMBDA_PYTHON) as runtime,
        runtime.serve_http() as url,
        pytest.raises(urllib.error.HTTPError, match="500") as caught,
    ):
        urllib.request.urlopen(url)
    assert b"secret" not in caught.value.read()
    caught.value.close()


HOOKED = """
import snapshot_restore_py
steps = ["init"]

@snapshot_restore_py.register_before_snapshot
def before():
    steps.append("before")

@snapshot_restore_py.register_after_restore
def after():
    steps.append("after")
    FAILURE

def handler(event, context):
    return steps
"""


def hooked(folder: Path, failure: str = "pass") -> LambdaRuntime:
    (folder / "app.py").write_text(HOOKED.replace("FAILURE", failure))
    snap_start = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    return LambdaRuntime(function=folder, layers=[], python=LAMBDA_PYTHON, environment=snap_start)


def test_a_process_waits_in_its_snapshot_between_its_hooks(tmp_path: Path) -> None:
    with hooked(tmp_path) as runtime:
        runtime.start()

        assert runtime.invoke({}) == ["init", "before", "after"]
        assert runtime.invoke({}) == ["init", "before", "after"]
        assert len(runtime.init_times_s) == 1


def test_without_snapstart_no_hook_runs(tmp_path: Path) -> None:
    with hooked(tmp_path) as runtime:
        runtime.update_environment(AWS_LAMBDA_INITIALIZATION_TYPE="on-demand")

        assert runtime.invoke({}) == ["init"]


def test_a_hook_that_fails_after_the_restoration_is_reported(tmp_path: Path) -> None:
    with hooked(tmp_path, failure="raise ValueError('no way back')") as runtime:
        runtime.start()
        with pytest.raises(FunctionError, match="ValueError: no way back"):
            runtime.restore()
