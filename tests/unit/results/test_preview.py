"""Answers that are too long: a part that is valid, that fits, and that says how to get the rest."""

import json
import re
from pathlib import Path
from typing import Any

import bpe_openai
import pytest

from tests.support.example_responses import ONE_RESPONSE_PER_TOOL, RESPONSE_IDS, example_response
from tests.support.examples import each_tenth
from tests.support.rendering import render_result
from toolfold.results import output, tokens
from toolfold.results.offload import AnswerStore
from toolfold.results.output import MIN_TOKENS, OutputOptions, RenderedResult
from toolfold.results.preview import fit_blocks
from toolfold.results.select import grammar

PRICES = "timestamp,open,close,volume\n" + "".join(
    f"{2000 + n // 365}-{n // 31 % 12 + 1:02}-{n % 28 + 1:02},{n}.25,{n}.75,{n * 1000}\n" for n in range(5000, 0, -1)
)
NEWS = json.dumps({"items": "90", "feed": [{"title": f"T{n}", "topics": [{"t": "x" * 900}] * 9} for n in range(90)]})
TREE = json.dumps({"payload": {"MATRIX": [[n, n + 1] for n in range(4000)], "about": "z" * 30_000}})

EXAMPLE = re.compile(r'select=("(?:[^"\\]|\\.)*")')
"""An example of a smaller request in a preview."""

encode = bpe_openai.get_encoding("o200k_base").encode


def shown(body: str, budget: int = 1000, **wishes: Any) -> RenderedResult:
    kind = "json" if body[0] in "[{" else "csv"
    return render_result(body, kind, {}, OutputOptions(max_tokens=budget, **wishes))


@pytest.mark.bulk
@pytest.mark.parametrize(
    "case",
    each_tenth(
        [*ONE_RESPONSE_PER_TOOL, *(f"{name} raw" for name in RESPONSE_IDS if name.endswith(".json"))],
    ),
)
def test_preview_of_every_tool_fits_the_budget(case: str) -> None:
    name, _, raw = case.partition(" ")
    answer, budget = example_response(name), MIN_TOKENS
    options = OutputOptions(raw_by="datatype" if raw else "", max_tokens=budget)
    result = render_result(answer.body, answer.kind, answer.tool.answer, options)
    assert len(encode(result.text)) <= 1.1 * budget
    if "preview" not in result.structured:
        return
    preview = result.structured["preview"]
    assert preview["left_out"]
    assert preview["full"]["tokens"] > 0.9 * budget
    if raw:
        assert json.loads(result.text.partition("\n")[2]) == result.structured["result"]
    # The example of asking for less works on the answer itself.
    examples = EXAMPLE.findall(preview["ask_less"])
    assert examples or "jmespath" in preview["ask_less"] or raw
    for example in examples:
        less = render_result(
            answer.body,
            answer.kind,
            answer.tool.answer,
            OutputOptions(select=grammar.parse_select(json.loads(example)), max_tokens=budget),
        )
        assert len(encode(less.text)) < preview["full"]["tokens"]


def test_preview_has_first_and_last_rows_and_says_what_is_left_out() -> None:
    result = shown(PRICES)
    whole = shown(PRICES, 10**6).structured["result"]
    part, preview = result.structured["result"], result.structured["preview"]
    assert part["columns"] == whole["columns"]
    assert part["row_count"] == whole["row_count"] == preview["rows_total"] == 5000
    count = preview["rows_shown"] = len(part["rows"])
    assert count > 20
    first = -(-2 * count // 3)
    assert part["rows"] == whole["rows"][:first] + whole["rows"][first - count :]
    assert preview["left_out"] == f"rows {first + 1}-{5000 - count + first}"
    assert preview["ask_less"] == 'select="timestamp,close; last 20"'
    notice, header, *lines = result.text.splitlines()
    assert notice.startswith("# Preview: ")
    assert " of 5,000 rows; left out: rows " in notice
    assert ' For less: select="timestamp,close; last 20"' in notice
    assert (header, len(lines)) == ("timestamp,open,close,volume", count)
    assert len(encode(result.text)) > 700


def test_inner_lists_and_long_texts_are_truncated_before_rows() -> None:
    result = shown(NEWS, 600)
    part = result.structured["result"]
    assert part["columns"] == ["title", "topics"]
    assert part["rows"][0][0] == "T0"
    assert "ends of long texts" in result.structured["preview"]["left_out"]
    assert part["rows"][0][1][0]["t"].endswith(" characters)")


def test_preview_of_nested_json_keeps_its_structure() -> None:
    result = shown(TREE)
    matrix = result.structured["result"]["payload"]["MATRIX"]
    assert matrix[0] == [0, 1]
    assert matrix[-1] == [3999, 4000]
    assert 10 < len(matrix) < 4000
    assert " of 4,000 items, ends of long texts" in result.structured["preview"]["left_out"]


def test_full_text_is_saved_in_a_file_only_its_owner_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    result = shown(PRICES, save_answer=AnswerStore(str(folder)).save)
    full = result.structured["preview"]["full"]
    path = Path(full["path"])
    assert path.read_text() == shown(PRICES, 10**6).text
    assert path.stat().st_mode & 0o777 == 0o600
    assert {made.stat().st_mode & 0o777 for made in (folder, path.parent)} == {0o700}
    assert full["path"] in result.text
    assert full["expires_at"] in result.text
    assert full["tokens"] == pytest.approx(len(encode(path.read_text())), rel=0.2)
    other = shown(PRICES, save_answer=AnswerStore(str(folder)).save).structured["preview"]["full"]["path"]
    assert other == full["path"]  # named by its content


@pytest.mark.parametrize("raw_by", ["", "datatype"])
def test_unwritable_folder_costs_only_the_link(tmp_path: Path, raw_by: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    result = shown(PRICES, raw_by=raw_by, save_answer=AnswerStore(str(tmp_path / "file")).save)
    assert set(result.structured["preview"]["full"]) == {"tokens"}
    assert "is too long" in result.text
    assert "could not be saved" in caplog.text


def test_preview_of_raw_json_keeps_its_shape() -> None:
    body = json.dumps(
        {"Meta Data": {"2. Symbol": "IBM"}, "Weekly": {f"{n}-01-01": {"1. open": "1.00"} for n in range(1000, 3000)}}
    )
    result = shown(body, raw_by="datatype")
    assert json.loads(result.text.partition("\n")[2]) == result.structured["result"]
    assert result.structured["result"]["Meta Data"] == {"2. Symbol": "IBM"}
    days = list(result.structured["result"]["Weekly"])
    assert days[0] == "1000-01-01"
    assert days[-1] == "2999-01-01"
    assert result.structured["preview"]["rows_total"] == 2000
    assert "leave out datatype" in result.structured["preview"]["ask_less"]


@pytest.mark.parametrize(
    ("body", "raw_by"),
    [
        ("a,b\n" + ('"é' + '"' * 80 + '",1\n') * 600, ""),
        (json.dumps({"a": ["\U0001f600" * 100] * 110}), "datatype"),
    ],
    ids=["quotes", "emoji"],
)
def test_answer_stays_below_the_lambda_response_limit(body: str, raw_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MAX_RESPONSE_CHARS", "_SAFE_TEXT_CHARS"):  # a twentieth
        monkeypatch.setattr(output, name, getattr(output, name) // 20)
    result = shown(body, 10**9, raw_by=raw_by)
    response = json.dumps({"body": json.dumps({"content": result.text, "structuredContent": result.structured})})
    assert len(response) < 6 * 1024 * 1024 / 20
    assert "preview" in result.structured


def test_long_link_is_in_the_structured_data_only(tmp_path: Path) -> None:
    place = str(tmp_path.joinpath(*["x" * 200] * 8))
    result = shown(PRICES, MIN_TOKENS, save_answer=AnswerStore(place).save)
    assert result.structured["preview"]["full"]["path"] not in result.text
    assert "structuredContent.preview.full" in result.text


# Further content blocks: data as it is, and text within the budget

IMAGE: dict[str, Any] = {"type": "image", "data": "x" * 100_000, "mimeType": "image/png", "annotations": {"a": 1}}
LONG = "one word after another, " * 4000


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value, "_meta": {"b": 2}}


def resource(value: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "note://1", "text": value}, "_meta": {"c": 3}}


def test_blocks_within_the_budget_are_the_same() -> None:
    blocks = [IMAGE, text("two"), resource("three"), {"type": "resource_link", "uri": "note://2", "name": "n"}]
    assert fit_blocks(blocks, 1000) == (blocks, "")


def test_text_over_the_budget_is_cut_and_the_rest_is_counted() -> None:
    blocks, note = fit_blocks([IMAGE, resource(LONG), text("after")], 1000)
    assert blocks[0] == IMAGE
    shown = blocks[1]["resource"]
    assert (blocks[1]["_meta"], shown["uri"]) == ({"c": 3}, "note://1")
    assert LONG.startswith(shown["text"])
    assert 300 < tokens.count(shown["text"]) <= 1000
    assert blocks[2]["text"] == ""
    assert note.startswith(f"{len(LONG) - len(shown['text']) + len('after'):,} characters")


def test_the_budget_is_that_of_all_texts_together() -> None:
    blocks, note = fit_blocks([text("word " * 800)] * 3, 1000)
    assert sum(tokens.count(block["text"]) for block in blocks) <= 1000
    assert note
