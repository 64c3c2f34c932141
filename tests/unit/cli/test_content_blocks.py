"""Answers with images, resources and further text at a terminal: none is left out without a word."""

from __future__ import annotations

import json

import pytest

from toolfold.cli.answers import print_answer
from toolfold.meta_tools.result import Result

BLOCKS = [
    {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "mem://1", "mimeType": "text/markdown", "text": "# hi"}},
    {"type": "text", "text": "more"},
]
RESULT = Result({"result": "hello"}, "hello", blocks=BLOCKS)


def test_what_is_not_shown_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(RESULT, "")
    shown, notice = capsys.readouterr()
    assert shown == "hello"
    assert notice == "# Not shown: image (image/png), resource (text/markdown), text. --json has it as content.\n"


def test_json_has_the_content(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(RESULT, "structured")
    assert json.loads(capsys.readouterr().out) == {"result": "hello", "content": BLOCKS}
