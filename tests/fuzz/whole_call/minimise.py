"""Shorten an input while it still fails in the same way."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tests.fuzz import minimise as shortening
from tests.fuzz.whole_call.inputs import CallInput

MAX_S = 8.0
"""Seconds after which the shortest input so far is good enough."""


def minimise(sent: CallInput, fails: Callable[[CallInput], bool]) -> CallInput:
    """Return an input like ``sent`` for which ``fails`` is still true, with as little in it as can be found."""
    return shortening.minimise(sent, _shorter, fails, MAX_S)


def _shorter(sent: CallInput) -> Iterator[CallInput]:
    default = CallInput()
    for one in fields(CallInput):
        if one.name not in ("body", "tool", "arguments"):
            yield replace(sent, **{one.name: getattr(default, one.name)})
    for name in sent.options:
        yield replace(sent, options={key: value for key, value in sent.options.items() if key != name})
    if isinstance(sent.arguments, dict):
        for name in sent.arguments:
            yield replace(sent, arguments={key: value for key, value in sent.arguments.items() if key != name})
    for at, part in enumerate(sent.body):
        yield replace(sent, body=(*sent.body[:at], *sent.body[at + 1 :]))
        for smaller in _smaller_part(part):
            yield replace(sent, body=(*sent.body[:at], smaller, *sent.body[at + 1 :]))
    for text in _smaller_text(sent.key):
        yield replace(sent, key=text)


def _smaller_part(part: Any) -> Iterator[Any]:
    if isinstance(part, str):
        yield from _smaller_text(part)
        return
    for times in (1, 2, part["times"] // 2, part["times"] * 9 // 10):
        if times < part["times"]:
            yield {**part, "times": times}
    for text in _smaller_text(part["repeat"]):
        yield {**part, "repeat": text}


def _smaller_text(text: str) -> Iterator[str]:
    size = len(text) // 2
    while size:
        for at in range(0, len(text), size):
            yield text[:at] + text[at + size :]
        size //= 2
