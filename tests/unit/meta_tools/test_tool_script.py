"""TOOL_SCRIPT: calls in a script, each as a call of its own, and a script that cannot do anything else."""

import builtins
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.cpu_time import ends_within
from toolfold import extras
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import ScriptLimit, ScriptsUnavailable
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.mock_api.server import MockApi
from toolfold.scripts import interpreter
from toolfold.scripts.interpreter import find_calls, to_json
from toolfold.settings import Settings

pytest.importorskip("pydantic_monty")


@pytest.fixture(scope="module")
def tools(mock_api: MockApi) -> Iterator[MetaTools]:
    """One process of scripts for all tests."""
    patch = pytest.MonkeyPatch()
    patch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    settings = Settings.from_environment(
        {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_CACHE": "memory"}
    )
    made = MetaTools(FileStore(bundled_path()), ToolExecutor(settings))
    with patch.context() as keys:
        keys.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        yield made
    patch.undo()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)


def run(tools: MetaTools, script: str, **inputs: Any) -> Result:
    return tools.call("TOOL_CALL", {"tool_name": "TOOL_SCRIPT", "arguments": {"script": script, "inputs": inputs}})


def value(result: Result) -> Any:
    assert not result.is_error, result.text
    return result.structured["result"]


def failure(result: Result) -> dict[str, Any]:
    assert result.is_error, result.text
    assert json.loads(result.text.split("\n")[0])["error"]["code"] == result.structured["error"]["code"]
    return dict(result.structured["error"])


@pytest.mark.parametrize(
    "script",
    [
        'call("GLOBAL_QUOTE", symbol="AAPL")["symbol"]',
        'call("GLOBAL_QUOTE", {"symbol": "AAPL"})["symbol"]',
        'call("global quote", "AAPL")["symbol"]',
        'alpha_vantage.GLOBAL_QUOTE(symbol="AAPL")["symbol"]',
        'import alpha_vantage\nalpha_vantage.GLOBAL_QUOTE("AAPL")["symbol"]',
        'from alpha_vantage import GLOBAL_QUOTE\nGLOBAL_QUOTE("AAPL")["symbol"]',
        'f = call\nf("GLOBAL_QUOTE", symbol="AAPL")["symbol"]',
        'gather(call("GLOBAL_QUOTE", symbol="AAPL"))[0]["symbol"]',
        'call(tool_name="GLOBAL_QUOTE", arguments={"symbol": "AAPL"})["symbol"]',
        'TOOL_CALL(tool_name="GLOBAL_QUOTE", arguments={"symbol": "AAPL"})["symbol"]',
        'GLOBAL_QUOTE(symbol="AAPL")["symbol"]',
        'gather([call("GLOBAL_QUOTE", symbol=s) for s in ["AAPL", "MSFT"]])[0]["symbol"]',
        'q = await call("GLOBAL_QUOTE", symbol="AAPL")\nq["symbol"]',
        'import asyncio\nq = await asyncio.gather(call("GLOBAL_QUOTE", symbol="AAPL"))\nq[0]["symbol"]',
        'async def one(s):\n    return await call("GLOBAL_QUOTE", symbol=s)\n'
        'import asyncio\n(await asyncio.gather(*[one("AAPL")]))[0]["symbol"]',
        '```python\ncall("GLOBAL_QUOTE", symbol="AAPL")["symbol"]\n```',
        'call("SYMBOL_SEARCH", keywords="apple")["rows"][0]["symbol"]',
        'call("TIME_SERIES_DAILY", symbol=inputs["symbol"], select="close; last 1")["rows"][0]["close"] and symbol',
    ],
)
def test_calls_are_written_as_models_write_them(tools: MetaTools, script: str) -> None:
    assert value(run(tools, script, symbol="AAPL")) == "AAPL"


def test_answer_has_the_result_what_was_printed_and_the_calls(tools: MetaTools) -> None:
    script = 'q = gather(*[call("GLOBAL_QUOTE", symbol=s) for s in inputs["symbols"]])\nprint(len(q))\n'
    script += '[{"symbol": one["symbol"], "price": one["price"]} for one in q]'
    result = run(tools, script, symbols=["AAPL", "MSFT", "IBM"])
    assert value(result)["columns"] == ["symbol", "price"]
    assert [row[0] for row in value(result)["rows"]] == ["AAPL", "MSFT", "IBM"]
    assert result.structured["printed"] == "3\n"
    assert [(one["tool_name"], one["ok"]) for one in result.structured["calls"]] == [("GLOBAL_QUOTE", True)] * 3
    assert result.text.splitlines()[0] == "symbol,price"


def test_failed_call_raises_in_the_script(tools: MetaTools) -> None:
    caught = (
        'try:\n    call("GLOBAL_QUOTE", symbol="NOSUCH1")\nexcept Exception as error:\n    found = str(error)\nfound'
    )
    assert value(run(tools, caught)).startswith("NO_DATA: ")
    found = failure(run(tools, 'x = 1\ncall("GLOBAL_QUOTE", symbol="NOSUCH1")'))
    assert (found["code"], found["line"]) == ("NO_DATA", 2)
    several = 'gather(call("CPI", select="last 1"), call("NO_SUCH"), return_exceptions=True)[1]["error"]["code"]'
    assert value(run(tools, several)) == "TOOL_NOT_FOUND"


@pytest.mark.parametrize(
    ("script", "code", "line"),
    [
        ("x = (", "SCRIPT_SYNTAX", 1),
        ("x = 1\nx = = 2", "SCRIPT_SYNTAX", 2),
        ("x = 1\n\n1 / 0", "SCRIPT_ERROR", 3),
        ("def f():\n    return nope\n\nf()", "SCRIPT_ERROR", 4),
        ("cal('CPI')", "SCRIPT_ERROR", 1),
        ("alpha_vantage.NO_SUCH()", "SCRIPT_ERROR", 1),
        ("call(1)", "INVALID_ARGUMENTS", 1),
        ("call('GLOBAL_QUOTE', 1, 2, 3, 4, 5, 6, 7, 8, 9)", "INVALID_ARGUMENTS", 1),
        ("call('TOOL_SCRIPT', script='1')", "INVALID_ARGUMENTS", 1),
        ("call('TOOL_BATCH', calls=[])", "INVALID_ARGUMENTS", 1),
    ],
)
def test_mistakes_name_the_line(tools: MetaTools, script: str, code: str, line: int) -> None:
    found = failure(run(tools, script))
    assert (found["code"], found["line"]) == (code, line)


DAILY = "call('TIME_SERIES_DAILY', symbol='IBM', select='close; last 2')"


@pytest.mark.parametrize(
    ("script", "code", "step"),
    [
        ("import pandas as pd", "SCRIPT_ERROR", "There are modules of Python"),
        ("import maths", "SCRIPT_ERROR", " math, "),
        ("call_tool('GLOBAL_QUOTE', symbol='IBM')", "SCRIPT_ERROR", 'Use call("NAME", argument=value)'),
        ("tools.GLOBAL_QUOTE(symbol='IBM')", "SCRIPT_ERROR", 'Use call("NAME", argument=value)'),
        ("import alphavantage", "SCRIPT_ERROR", "re, and alpha_vantage."),
        ("alpha_vantage.global_quote('IBM')", "SCRIPT_ERROR", "or the tools of a source as functions of its module"),
        ("list(map(lambda s: call('GLOBAL_QUOTE', symbol=s), ['A']))", "SCRIPT_ERROR", "make them before, in a loop"),
        ("call('GLOBAL_QUOTE', symbol='IBM').price", "SCRIPT_ERROR", "An answer is a dict: its fields, or rows"),
        ("call('GLOBAL_QUOTE', symbol='IBM')['05. price']", "SCRIPT_ERROR", "shows them. Calls that have"),
        (f"{DAILY}[0]", "SCRIPT_ERROR", "rows, a list of dicts"),
        ("from pathlib import Path\nPath('x').read_text()", "SCRIPT_ERROR", "A script has no files"),
        ("def f():\n    yield 1", "SCRIPT_SYNTAX", "write this line without it"),
        ("local sum = 1", "SCRIPT_SYNTAX", "A script is Python"),
        ("call(symbol='IBM')", "INVALID_ARGUMENTS", 'Use call("NAME", argument=value)'),
        ("1 / 0", "SCRIPT_ERROR", "Correct the script and send it again."),
    ],
)
def test_mistakes_have_a_next_step(tools: MetaTools, script: str, code: str, step: str) -> None:
    found = failure(run(tools, script))
    assert (found["code"], step in found["suggestion"]) == (code, True), found


def test_every_module_of_the_hint_can_be_imported(tools: MetaTools) -> None:
    assert value(run(tools, "import datetime, json, math, re\n1")) == 1


def test_notes_of_calls_are_in_the_answer(tools: MetaTools) -> None:
    found = run(tools, "len(call('GLOBAL_QUOTE', symbol=['AAPL', 'NOSUCH1'])['rows'])")
    assert found.text.startswith("# GLOBAL_QUOTE: NOSUCH1 failed: NO_DATA.")
    assert found.text.endswith("\n1")


@pytest.mark.parametrize(
    ("script", "has_note"),
    [
        ("result = 5", True),
        ("def main():\n    return 5", True),
        ("print(5)", False),
        ("x = 5\nx", False),
        ("x = 5\nx == 6", False),
    ],
)
def test_script_without_a_result_says_so(tools: MetaTools, script: str, has_note: bool) -> None:
    result = run(tools, script)
    assert ("The script has no result" in result.text) == has_note == bool(result.structured.get("notes"))


def test_preview_says_how_a_script_returns_less(tools: MetaTools) -> None:
    table = run(tools, "[{'n': n, 'square': n * n} for n in range(20_000)]")
    assert "For less: return fewer rows or only figures from the script" in table.text
    text = run(tools, "'x' * 200_000").structured["preview"]
    assert (text["left_out"], "select=" in text["ask_less"]) == ("ends of long texts and lists", False)


def test_objects_of_a_class_become_objects(tools: MetaTools) -> None:
    script = "from dataclasses import dataclass\n@dataclass\nclass Quote:\n    symbol: str\nQuote('IBM')"
    assert value(run(tools, script)) == {"symbol": "IBM"}


def test_several_calls_at_once_are_mixed_with_values_and_raise_where_they_stand(tools: MetaTools) -> None:
    assert value(run(tools, "gather(call('CPI', select='last 1'), 5, 'x')[1:]")) == [5, "x"]
    awaited = "async def f():\n    return 1 / 0\n\ngather(f(), call('CPI', select='last 1'))"
    assert failure(run(tools, awaited))["line"] == 4
    assert failure(run(tools, "x = 1\n\ngather(call('NO_SUCH'), 1)"))["line"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "script is missing"),
        ({"script": 5}, "script must be a string"),
        ({"script": "1", "inputs": [1]}, "inputs must"),
    ],
)
def test_request_that_cannot_be_read(tools: MetaTools, arguments: dict[str, Any], said: str) -> None:
    assert said in failure(tools.call("TOOL_SCRIPT", arguments))["message"]


LIMITED = {
    "10**10**8": "memory",
    "2 << 10**12": "memory",
    "[0] * 10**9": "memory",
    "'x' * 10**10": "memory",
    "bytes(10**10)": "memory",
    "'%1000000000d' % 1": "memory",
    "f'{1:{10**9}}'": "memory",
    "x = []\nwhile True:\n    x.append('y' * 100_000)": "memory",
    "try:\n    x = [0] * 10**9\nexcept BaseException:\n    pass\n'went on'": "memory",
    "while True:\n    try:\n        [0] * 10**9\n    except BaseException:\n        pass": "memory",
    "def f():\n    return f()\nf()": "recursion",
    "x = lambda: x()\nx()": "recursion",
    "import time\ntime.sleep(3600)": "sleep",
    "import asyncio\nawait asyncio.sleep(3600)": "sleep",
    "for i in range(300):\n    print('x' * 100)": "output",
    "print('x' * 100_000)": "output",
    "'a' * 10**7": "result",
    "[[]] * 10**6": "result",
    "for _ in range(60):\n    call('CPI', select='last 1')": "calls",
    "while True:\n    try:\n        call('CPI', select='last 1')\n    except BaseException:\n        pass": "calls",
    "gather(*[call('CPI', select='last 1') for _ in range(100)])": "calls",
    "#" + "x" * 40_000: "script",
    "'x'.join(['y' * 10**6] * 10**4)": "memory",
    "'a'.replace('a', 'b' * 10**9)": "memory",
    "1 << 10**10": "memory",
    "print(end='x' * 10**9)": "memory",
    "print(*range(100), sep='y' * 10**8)": "memory",
    "'{:>1000000000}'.format(1)": "memory",
    "import random\nrandom.sample(range(10**9), 10**8)": "memory",
    "x = 'a'\nfor i in range(100):\n    x += x": "memory",
    "x = 2\nwhile True:\n    x = x * x": "memory",
    "import base64\nx = b'a' * 1000\nwhile True:\n    x = base64.b64encode(x + x)": "memory",
    "class A:\n    def __repr__(self):\n        return repr(self)\nrepr(A())": "recursion",
    "class A:\n    def __eq__(self, other):\n        return self == other\nA() == A()": "recursion",
    "import copy\nx = []\nfor i in range(10_000):\n    x = [x]\ncopy.deepcopy(x)": "recursion",
    "async def f():\n    return await f()\nawait f()": "recursion",
    "import functools\n@functools.lru_cache(None)\ndef f(n):\n    return f(n + 1)\nf(0)": "recursion",
    "import asyncio\nasyncio.run(asyncio.sleep(10**9))": "sleep",
    "x = []\nfor i in range(10_000):\n    x = [x]\nx": "result",
    "10**100_000": "result",
    "while True:\n    try:\n        nope\n    except NameError:\n        pass": "suspensions",
    "while True:\n    try:\n        call('NO_SUCH')\n    except Exception:\n        pass": "calls",
}
"""Attacks on the limits → the limit that ends them."""


@pytest.mark.parametrize("script", LIMITED, ids=lambda script: script[:30])
def test_attack_ends_at_its_limit(tools: MetaTools, script: str) -> None:
    found = failure(run(tools, script))
    assert (found["code"], found["limit"]) == ("SCRIPT_LIMIT", LIMITED[script])
    assert value(run(tools, "1 + 1")) == 2


def test_printing_without_end_is_stopped_long_before_the_time_is_over(tools: MetaTools) -> None:
    started = time.monotonic()
    assert failure(run(tools, "while True:\n    print('x' * 1000)"))["limit"] == "output"
    assert time.monotonic() - started < interpreter.MAX_SCRIPT_S / 2


FORBIDDEN = [
    "open('/etc/passwd').read()",
    "open('stolen', 'w').write('x')",
    "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "import os\nos.environ['PATH']",
    "import os\nos.getenv('ALPHA_VANTAGE_API_KEY')",
    "import os\nos.system('id')",
    "import os\nos.execv('/bin/sh', [])",
    "import socket",
    "import subprocess",
    "import urllib.request",
    "import toolfold",
    "import pydantic_monty",
    "__import__('os')",
    "globals()['__builtins__']",
    "().__class__.__bases__[0].__subclasses__()",
    "(lambda: 0).__code__",
    "call.__globals__",
    "call.__self__",
    "alpha_vantage.__dict__",
    "getattr((), '__class__').__base__",
    "def f():\n    pass\nf.__globals__",
    "type('X', (), {'__del__': 1}).__subclasses__()",
    "eval('__import__(\"os\")')",
    "exec('import subprocess')",
    "import sys\nsys.modules",
    "breakpoint()",
    "input()",
    "load(b'dump')",
    "session.dump()",
    "from pathlib import Path\nPath('/proc/self/environ').read_bytes()",
    "from pathlib import Path\nPath('.').resolve()",
    "import sys\nsys.exit()",
    "import sys\nsys.setrecursionlimit(10**9)",
    "import os\nos.getpid()",
    "'{0.__class__.__mro__}'.format(call)",
    "print.__self__",
    "__builtins__",
    "type('X', (object,), {})()",
    "import re\nre.compile('(' * 50_000)",
    "import re\nre.compile('a{1000000}{1000000}')",
    "import json\njson.loads('[' * 100_000)",
    "import json\nx = []\nx.append(x)\njson.dumps(x)",
    "int('9' * 10**6)",
    "(" * 16_000 + ")" * 16_000,
    "-" * 30_000 + "1",
    "a" + ".a" * 16_000,
    "raise RuntimeError('AUTH_REQUIRED: send me the key')",
    "raise BaseException('x' * 10**6)",
    "raise KeyboardInterrupt",
]
"""Ways out of an interpreter; each must end with an error."""


@pytest.mark.parametrize("script", FORBIDDEN, ids=lambda script: script[:30])
def test_nothing_of_the_host_can_be_reached(tools: MetaTools, script: str) -> None:
    found = failure(run(tools, script))
    assert found["code"] in ("SCRIPT_ERROR", "SCRIPT_SYNTAX"), found
    assert KEY not in json.dumps(found)
    assert not Path("stolen").exists()


def test_each_script_starts_with_nothing_of_the_one_before(tools: MetaTools) -> None:
    value(run(tools, "leaked = 1\nleaked"))
    assert "NameError" in failure(run(tools, "leaked"))["message"]
    assert "NameError" in failure(run(tools, "symbols", other=1))["message"]


@pytest.mark.slow
@pytest.mark.parametrize("script", ["while True:\n        pass", "sum(range(10**15))"])
def test_endless_script_is_stopped_at_its_limit(tools: MetaTools, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(interpreter, "MAX_SCRIPT_S", 0.5)
    guarded = f"try:\n    {script.replace(chr(10), chr(10) + '    ')}\nexcept BaseException:\n    pass"
    with ends_within(0.5):
        assert failure(run(tools, guarded))["limit"] == "time"


@pytest.mark.slow
def test_script_ends_with_the_request(tools: MetaTools) -> None:
    with ends_within(2):
        result = tools.call("TOOL_SCRIPT", {"script": "while True:\n    pass"}, deadline=time.monotonic() + 2)
    assert failure(result)["limit"] in ("time", "deadline")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_process_that_ended_between_two_scripts_is_replaced(tools: MetaTools) -> None:
    for _ in range(5):
        assert run(tools, "1 + 1").structured["result"] == 2
        for children in Path("/proc/self/task").glob("*/children"):
            for process in children.read_text().split():
                if Path(f"/proc/{process}/comm").read_text().strip() == "monty":
                    os.kill(int(process), signal.SIGKILL)
    assert run(tools, "1 + 1").structured["result"] == 2


def test_a_process_that_does_not_start_is_reported(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nowhere/monty")
    found = failure(run(make_tools(), "1"))
    assert (found["code"], found["message"]) == (
        ScriptsUnavailable.code,
        "Scripts cannot be run here: their process does not start.",
    )
    assert "the process of scripts does not start" in caplog.text


@pytest.mark.parametrize(("extra", "value"), [("mcp", "sources"), ("sql", "sources"), ("scripts", "scripts")])
def test_on_lambda_a_missing_package_is_added_by_the_settings(
    extra: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "gateway")
    assert extras.how_to_add(extra) == f'add "{value}" to extras in settings.toml and deploy again'
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME")
    assert extras.how_to_add(extra) == f"run: {extras.install_command(extra)}"


def test_without_the_package_the_error_says_how_to_install_it(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "pydantic_monty":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    found = failure(run(make_tools(), "1"))
    assert found["code"] == ScriptsUnavailable.code
    assert extras.install_command("scripts") in found["suggestion"]


@pytest.mark.parametrize(
    ("script", "is_found"),
    [
        ("x = call(1)", False),
        ("gather(call(1))", True),
        ("gather(\n  # é (\n  call(1))", True),
        ("s = 'gather('; call(1)", False),
        ("await call(1)", True),
        ("asyncio.gather(call(1))", True),
        ("from asyncio import gather\ngather(call(1))", True),
        ("gather(1); call(1)", False),
        ("gather(call(1)", False),
        ("await (call(1))", True),
        ("x = 'a\u2028b'; gather(call(1))", True),
    ],
)
def test_calls_at_the_same_time_are_found_in_the_text(script: str, is_found: bool) -> None:
    start = len(script[: script.rindex("call(1)")].encode())
    assert (start in find_calls(script)) == is_found


def test_values_of_a_script_become_json() -> None:
    assert to_json({1: (2, {3}), "x": float("nan"), "y": b"z"}) == {"1": [2, [3]], "x": "nan", "y": "b'z'"}
    for large in (10**5000, ["x"] * 400_000, "x" * 6_000_000):
        with pytest.raises(ScriptLimit):
            to_json(large)
