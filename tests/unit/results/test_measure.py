"""What parsing is taken to allocate is never less than what it allocates."""

import csv
import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from toolfold.budget import MAX_BYTES
from toolfold.errors import AnswerTooLarge
from toolfold.results import parsing

COUNT = 40_000
SHAPES: dict[str, str] = {
    "empty objects": json.dumps([{}] * COUNT), "empty lists": json.dumps([[]] * COUNT),
    "one member": json.dumps([{"a": 1}] * COUNT), "own keys": json.dumps([{f"k{n}": n} for n in range(COUNT)]),
    "six members": json.dumps([dict.fromkeys("abcdef", "xy")] * COUNT), "lists of one": json.dumps([[1]] * COUNT),
    "eleven members": json.dumps([dict.fromkeys("abcdefghijk", 1.5)] * COUNT),
    "one object": json.dumps({f"k{n}": n for n in range(COUNT * 4)}),
    "numbers": json.dumps([n * 1000 for n in range(COUNT * 4)]), "decimals": json.dumps([n / 8 for n in range(COUNT)]),
    "strings": json.dumps([str(n) for n in range(COUNT * 4)]), "text": json.dumps(["x" * 1_000_000]),
    "escaped emoji": '["' + "\\ud83d\\ude00" + "x" * 1_000_000 + '"]', "escape": '["\\u0100' + "x" * 1_000_000 + '"]',
    "emoji": '["' + "\U0001f600" * 300_000 + '"]',
}  # fmt: skip


def allocated(parse: Callable[[str], Any], body: str) -> int:
    tracemalloc.start()
    try:
        parsed = parse(body)
        size, _ = tracemalloc.get_traced_memory()
        del parsed
    finally:
        tracemalloc.stop()
    return size


@pytest.mark.parametrize("name", SHAPES)
def test_bound_of_json_is_not_exceeded(name: str) -> None:
    body = SHAPES[name]
    bound, size = sum(parsing.json_size(body)), allocated(json.loads, body)
    assert size < 1.02 * bound
    assert bound < 12 * size + 20 * len(body)


@pytest.mark.parametrize("line", ["1,2", "a,b,c", "12345678,2024-01-02,abc", ",,,", "x" * 100])
def test_bound_of_csv_is_not_exceeded(line: str) -> None:
    body = f"{line}\n" * COUNT

    def columns(text: str) -> Any:
        return [list(column) for column in zip(*csv.reader(io.StringIO(text)), strict=True)]

    assert allocated(columns, body) < parsing.csv_size(body)


def test_json_of_many_containers_cannot_be_parsed() -> None:
    parsing.require_parsable_json("[" + "{}," * 1000 + "{}]")
    with pytest.raises(AnswerTooLarge):
        parsing.require_parsable_json("[" + "{}," * 8_000_000 + "{}]")


def test_realistic_answer_of_the_largest_size_can_be_parsed() -> None:
    row = '{"date":"2024-01-02","open":"185.1000","high":"186.2500",'
    row += '"low":"184.0000","close":"185.7500","volume":"123456"},'
    body = "[" + row * (25_000_000 // len(row)) + "{}]"
    assert sum(parsing.json_size(body)) + sys.getsizeof(body) < MAX_BYTES
