"""A call that takes longer than one request may, by the SDK's own client of the Tasks extension."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.helpers import FOLDER, TOOLFOLD, node, output, start_server
from tests.support.upstream import Upstream

pytestmark = pytest.mark.clients


def test_its_task_is_polled_until_the_whole_result_is_there(
    environment: Mapping[str, str], empty: Path, tmp_path: Path
) -> None:
    def reply(query: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        # One answer comes at once, also on a busy machine: a call without any becomes no task.
        time.sleep(0.0 if query["symbol"] == "SLOW0" else 1.5)
        return 200, {}, f"symbol,price\n{query['symbol']},1\n".encode()

    symbols = [f"SLOW{number}" for number in range(12)]
    calls = [{"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}} for symbol in symbols]
    short = {"TOOLFOLD_TIMEOUT_S": "3", "TOOLFOLD_CONNECT_TIMEOUT_S": "1", "TOOLFOLD_MAX_QUEUE_WAIT_S": "0.5"}
    with Upstream(reply) as upstream:
        variables = {**environment, **short, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url}
        with start_server([TOOLFOLD, "serve", "--port", "0"], env=variables, log=tmp_path / "log") as url:
            batch = json.dumps({"calls": calls, "max_parallel": 2})
            answer = output([node(), str(FOLDER / "task_steps.mjs"), url, batch], env=variables, cwd=empty)
    assert [method for method in answer["sent"] if method != "tools/list"][:2] == ["tools/call", "tasks/get"]
    assert answer["result"]["structuredContent"]["summary"]["succeeded"] == len(symbols)
