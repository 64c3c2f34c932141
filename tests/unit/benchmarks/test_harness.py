"""The harness takes turns, sums up, and reports what a process of a benchmark returns."""

from __future__ import annotations

import argparse
import os

import pytest

from benchmarks import harness, timing


def test_actions_take_turns_and_the_first_rounds_do_not_count() -> None:
    made: list[str] = []
    found = timing.in_turn({name: lambda name=name: made.append(name) or len(made) for name in "ab"}, range(3), 1)
    assert made == ["a", "b"] * 3
    assert found == {"a": [3, 5], "b": [4, 6]}


def test_percentiles_are_measured_values() -> None:
    values = [3.0, 1.0, 2.0, 5.0, 4.0]
    assert [timing.percentile(values, percent) for percent in (0, 50, 99, 100)] == [1, 3, 4, 5]
    assert timing.spread([10, 20, 60]) == "20 (15–40)"


def test_a_function_runs_in_a_process_of_its_own() -> None:
    assert harness.in_process("os:getpid") != os.getpid()
    assert harness.in_process("os:getenv", "BENCHMARK", BENCHMARK="set") == "set"
    with pytest.raises(SystemExit, match="FileNotFoundError"):
        harness.in_process("os:listdir", "/no/such/folder")


def test_problems_fail_the_command_and_are_printed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    options = argparse.Namespace(write=False)
    assert harness.finish(options, "make it", "| table |") == 0
    assert harness.finish(options, "make it", "| table |", problems=["too slow"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("| table |\n| table |\n", "too slow\n")
