"""A probe: a call as a model may write it before it has read anything, and what a right answer holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.agent.raw_data import RawData

Area = Literal["TOOL_LIST", "TOOL_GET", "TOOL_CALL", "select"]


@dataclass(frozen=True)
class Probe:
    """A call of a meta-tool.

    Attributes:
        area: what the probe is about.
        name: the tool that the client calls.
        arguments: of that call.
        expected: the values that an answer must hold, computed from the raw data; None: any answer that is not empty.
        of_all: the same of the whole series, where a tool returns a part of it by default.
        is_natural: whether the guess has one meaning, so that it counts for the share of guesses that are accepted.
    """

    area: Area
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expected: Callable[[RawData], list[Any]] | None = None
    of_all: Callable[[RawData], list[Any]] | None = None
    is_natural: bool = True

    def __str__(self) -> str:
        shown = self.arguments.get("select") if self.area == "select" else None
        return f"{self.name} {shown if shown is not None else dict(self.arguments)}"[:160]
