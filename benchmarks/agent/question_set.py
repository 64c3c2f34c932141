"""Everyday questions, the calls that a model writes for them at first, and the right answers: ``questions.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.agent.client import PREMIUM_KEY

Guess = tuple[Mapping[str, Any], str | None]
"""Arguments of a tool, and the ``select`` of TOOL_CALL."""


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: what a person says; it is also the query of TOOL_LIST.
        tools: the tools that can answer it; the first is used.
        guesses: calls in the order in which a model tries them, each after the one before has failed.
        raw: the requests whose rows ``expected`` and ``operands`` read.
        expected: SQL for the values that the answer must hold; empty: none.
        operands: SQL for values from which a model gets the expected ones with one operation; empty: none.
        key: the API key of the caller; the mock API serves ``free`` what a free key gets.
        outcome: ``values``; or ``nothing``: there is no such data, and the answer must state that.
    """

    text: str
    tools: tuple[str, ...]
    guesses: tuple[Guess, ...]
    raw: tuple[str, ...] = ()
    expected: str = ""
    operands: str = ""
    key: str = PREMIUM_KEY
    outcome: Literal["values", "nothing"] = "values"


def _question(given: dict[str, Any]) -> Question:
    shared = given.pop("arguments", {})
    guesses = tuple(tuple(one) if isinstance(one, list) else (shared, one) for one in given["guesses"])
    return Question(**{**given, "guesses": guesses, "raw": tuple(given.get("raw", ()))})


QUESTIONS = tuple(
    map(_question, yaml.safe_load(Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8")))
)
