"""``toolfold call``: where the data go, in which form, and the notices beside them."""

import contextlib
import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import KEY
from tests.support.commands import Run, Stream
from tests.support.upstream import Upstream
from toolfold.cli import call, output, terminal
from toolfold.cli.application import Options
from toolfold.meta_tools.result import Result
from toolfold.mock_api.server import MockApi

Terminal = Callable[[int], None]

DAILY = ("call", "TIME_SERIES_DAILY", "symbol=IBM")
SENT = b'date,value\r\n2026-01-02,"1,5"\r\n2026-01-01,caf\xc3\xa9 \r\n\r\n'


@pytest.fixture(autouse=True)
def _own_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "waiting", contextlib.nullcontext)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Return a function that replaces the mock API by a server of one body."""

    def serve(body: bytes) -> None:
        upstream = Upstream((200, {}, body))
        upstream.__enter__()
        servers.append(upstream)
        monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", upstream.url)

    servers: list[Upstream] = []
    yield serve
    for server in servers:
        server.__exit__()


def records(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("select", ["price", "top 1 by price"])
def test_batch_has_its_answers_and_its_failures(run: Run, select: str) -> None:
    calls = [{"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": one}} for one in ("IBM", "NOSUCH1", "MSFT")]
    code, out, err = run("call", "TOOL_BATCH", json.dumps({"calls": calls, "select": select}))
    assert (code, "434.01" in out) == (0, True)
    if select == "price":
        assert "NO_DATA" in out
    else:
        assert "c2 failed.\nNO_DATA" in err
        assert "`toolfold call SYMBOL_SEARCH keywords=NOSUCH1`" in err


def test_a_pipe_gets_the_whole_answer(run: Run) -> None:  # N2
    code, out, err = run(*DAILY, "outputsize=full")
    rows = records(out)
    assert code == 0
    assert rows[0] == ["timestamp", "open", "high", "low", "close", "volume"]
    assert len(rows) > 6_000
    assert {len(row) for row in rows} == {6}
    assert err == ""


@pytest.mark.parametrize("body", [SENT, SENT.rstrip()])
def test_raw_answer_in_a_pipe_is_what_was_sent(
    run: Run, body: bytes, sent: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:  # N2
    sent(body)
    pipe = Stream("ascii")
    monkeypatch.setattr(sys, "stdout", pipe)
    code, _, err = run("call", "WTI", "datatype=csv")
    assert (code, err, pipe.written) == (0, "", body if body.endswith(b"\n") else body + b"\n")


def test_raw_answer_has_no_key(run: Run, sent: Callable[[bytes], None]) -> None:
    sent(f"date,value\r\n2026-01-02,{KEY}\r\n".encode())
    assert run("call", "WTI", "datatype=csv")[1] == "date,value\r\n2026-01-02,[key]\r\n"


def test_raw_answer_on_a_terminal_is_escaped_and_shortened(
    run: Run, sent: Callable[[bytes], None], terminal: Terminal
) -> None:
    sent("".join(["date,value\r\n", *(f"2026-01-02,{number}\x1b[2J\r\n" for number in range(200))]).encode())
    terminal(80)
    _, out, err = run("call", "WTI", "datatype=csv")
    lines = out.split("\n")
    assert lines[1] == "2026-01-02,0\\u001b[2J"
    assert len(lines) == 101
    assert "100 of 201 lines" in err
    assert len(run("call", "WTI", "datatype=csv", "--all")[1].split("\n")) == 202


def test_notices_are_on_stderr(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # N2
    quote = ("call", "GLOBAL_QUOTE", "symbol=IBM")
    run(*quote)
    monkeypatch.setattr("toolfold.results.output.MIN_REPORTED_AGE_S", 0)
    code, out, err = run(*quote)
    assert (code, json.loads(out)["symbol"]) == (0, "IBM")
    assert re.fullmatch(r"# cached \d+ s ago; --fresh requests it again\.\n", err)


def test_what_a_script_prints_is_on_stderr(run: Run) -> None:
    pytest.importorskip("pydantic_monty")
    assert run("call", "TOOL_SCRIPT", "script=print('a')\n5") == (0, "5\n", "# a\n")


def test_max_tokens_beyond_the_ceiling_is_not_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # N2
    monkeypatch.setenv("TOOLFOLD_MAX_TOKENS_CEILING", "1000")
    code, out, err = run(*DAILY, "--max-tokens", "100000")
    assert (code, err) == (0, "")
    assert len(records(out)) == 101
    _, out, err = run(*DAILY, "--max-tokens", "700")
    assert len(records(out)) < 50
    assert re.match(r"# Preview: \d+ of 100 rows; left out: .*--select returns another part of all", err)


def test_formats(run: Run) -> None:
    last = (*DAILY, "--select", "timestamp,close; last 2")
    rows = json.loads(run(*last, "--format", "json")[1])
    assert [list(row) for row in rows] == [["timestamp", "close"]] * 2
    assert records(run(*last, "--format", "csv")[1])[1:] == [[row["timestamp"], str(row["close"])] for row in rows]
    drawn = run(*last, "--format", "table")[1].splitlines()
    assert drawn == ["timestamp\tclose", *(f"{row['timestamp']}\t{row['close']}" for row in rows)]
    structured = json.loads(run(*last, "--json")[1])
    assert structured["result"]["row_count"] == 2
    assert structured["cached"]
    assert structured["age_s"] >= 0
    names, values = records(run("call", "GLOBAL_QUOTE", '{"symbol": "IBM"}', "--format", "csv")[1])
    assert (names[0], values[0]) == ("symbol", "IBM")


def test_several_tables_are_one_file_with_a_column_for_the_table(run: Run) -> None:
    code, out, _ = run("call", "TOP_GAINERS_LOSERS")
    rows = records(out)
    assert code == 0
    assert rows[0][:2] == ["table", "ticker"]
    assert {row[0] for row in rows[1:]} == {"top_gainers", "top_losers", "most_actively_traded"}
    assert set(json.loads(run("call", "TOP_GAINERS_LOSERS", "--format", "json")[1])) >= {"top_gainers", "meta"}


def test_tables_with_different_columns_are_json(run: Run) -> None:
    assert set(json.loads(run("call", "EARNINGS", "symbol=IBM")[1])) >= {"annualEarnings", "quarterlyEarnings"}
    code, out, err = run("call", "EARNINGS", "symbol=IBM", "--format", "csv")
    assert (code, out, "not one table: use --format json" in err) == (1, "", True)


def test_output_is_written_completely_or_not(run: Run, tmp_path: Path, mock_api: MockApi) -> None:  # N2
    file = tmp_path / "ibm.csv"
    code, out, err = run(*DAILY, "--output", str(file))
    assert (code, out) == (0, "")
    assert err == f"# Wrote {file.stat().st_size:,} bytes to {file}.\n"
    assert len(records(file.read_text())) == 101
    before, asked = file.read_bytes(), len(mock_api.requests)
    for path in (file, tmp_path, tmp_path / "none" / "x.csv"):  # before anything is called
        code, out, err = run(*DAILY, "--fresh", "--output", str(path))
        assert (code, out, len(err.splitlines())) == (1, "", 1)
    os.mkfifo(pipe := tmp_path / "pipe")  # as /dev/null, which is not replaced by a file
    assert run("call", "GLOBAL_QUOTE", "symbol=IBM", "-o", str(pipe), "-f")[0] == 1
    assert pipe.is_fifo()
    assert (file.read_bytes(), len(mock_api.requests)) == (before, asked)
    assert run("call", "GLOBAL_QUOTE", "symbol=IBM", "-o", str(file), "-f")[0] == 0
    assert records(file.read_text())[0][0] == "symbol"
    assert run("call", "GLOBAL_QUOTE", "-o", str(tmp_path / "ibm2.csv"))[0] == 1
    assert sorted(tmp_path.glob("*ibm*")) == [file]


@pytest.mark.parametrize(
    ("name", "begin"), [("x.json", '[\n  {\n    "timestamp": "'), ("x.csv", "timestamp,close"), ("x", "t")]
)
def test_name_of_the_file_decides_its_format(run: Run, tmp_path: Path, name: str, begin: str) -> None:
    assert run(*DAILY, "--select", "timestamp,close; last 2", "-o", str(tmp_path / name))[0] == 0
    assert (tmp_path / name).read_text().startswith(begin)


def test_output_keeps_the_bytes_and_the_rights_of_a_file(
    run: Run, sent: Callable[[bytes], None], tmp_path: Path
) -> None:
    sent(SENT)
    file, link = tmp_path / "x.csv", tmp_path / "link.csv"
    file.touch(0o640)
    link.symlink_to(file)
    assert run("call", "WTI", "datatype=csv", "-o", str(link), "-f")[0] == 0
    assert file.read_bytes() == SENT
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


@pytest.mark.parametrize("width", [40, 140])
def test_table_on_a_terminal_fits_and_splits_no_word(run: Run, terminal: Terminal, width: int) -> None:  # N2
    terminal(width)
    code, out, err = run("call", "NEWS_SENTIMENT", "tickers=AAPL", "--select", "title,source,time_published; first 11")
    shown = re.sub(r"\x1b\[\d+m", "", out)
    assert code == 0
    assert max(map(len, (shown + err).splitlines())) <= width
    data = json.loads(run("call", "NEWS_SENTIMENT", "tickers=AAPL", "--json")[1])["result"]
    words = {word for row in data["rows"] for cell in row for word in str(cell).split()}
    assert {word for word in shown.split() if word.isalpha()} <= words | {"title", "source"}


def test_long_table_on_a_terminal_shows_its_newest_rows(
    run: Run, sent: Callable[[bytes], None], terminal: Terminal
) -> None:
    sent(b"date,value\n" + b"".join(b"2026-01-02,%d\n" % number for number in range(1200)))
    terminal(80)
    _, out, err = run("call", "WTI")
    assert len(out.splitlines()) == 2 + 100
    assert "100 of 1,200 rows. --all prints all" in err
    assert len(run("call", "WTI", "--all")[1].splitlines()) > 1_200


def test_narrow_terminal_names_the_columns_that_it_has_no_room_for(run: Run, terminal: Terminal) -> None:
    terminal(40)
    _, out, err = run(*DAILY, "--select", "last 2")
    assert re.sub(r"\x1b\[\d+m", "", out).split("\n")[0].split() == ["timestamp", "open", "high", "low"]
    assert err.startswith("# No room for close, volume: --select")


def test_numbers_are_right_aligned_and_whole(run: Run, terminal: Terminal) -> None:
    terminal(60)
    out = run(*DAILY, "--select", "timestamp,close,volume; last 3")[1]
    lines = re.sub(r"\x1b\[\d+m", "", out).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d +[\d.]+ +\d+", line) for line in lines[2:])


@pytest.mark.parametrize(("kind", "is_bold"), [("xterm", True), ("dumb", False)])
def test_a_terminal_that_can_has_bold_headings(
    run: Run, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, kind: str, is_bold: bool
) -> None:
    terminal(80)
    monkeypatch.setenv("TERM", kind)
    assert ("\x1b[1m" in run(*DAILY, "--select", "last 2")[1]) is is_bold


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("GLOBAL_QUOTE", "IBM"), "Arguments are key=value, such as symbol=IBM, not 'IBM'."),
        (("GLOBAL_QUOTE", "symbol=MSFT", "=MSFT"), "not '=MSFT'."),
        (("GLOBAL_QUOTE", '{"symbol": '), "not valid JSON"),
        # What is no table cannot be one.
        ((*DAILY[1:], "--select", "jmespath: length(rows)", "--format", "csv"), "--format json"),
        ((*DAILY[1:], "datatype=csv", "--format", "table"), "leave it out for --format table"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(run: Run, arguments: tuple[str, ...], hint: str) -> None:
    code, out, err = run("call", *arguments)
    assert (code, out) == (1, "")
    assert hint in err


def test_cells_are_text_of_one_line() -> None:
    values = [None, True, 1.5, 10**20, "a\nb\x1b", ["a", 1], [{"a": 1}], {"a": [1]}]
    expected = ["", "true", "1.5", "1" + "0" * 20, "a b\\u001b", "a, 1", '[{"a": 1}]', '{"a": [1]}']
    assert [terminal.cell_text(value) for value in values] == expected


BLOCKS = [
    {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "mem://1", "mimeType": "text/markdown", "text": "# hi"}},
    {"type": "text", "text": "more"},
]
RESULT = Result({"result": "hello"}, "hello", blocks=BLOCKS)
OPTIONS = dict.fromkeys(("output", "format", "max_tokens", "endpoint", "json", "csv", "all"))


def test_what_is_not_shown_is_named_and_json_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    call.print_answer(RESULT, Options(**OPTIONS))
    notice = "# Not shown: image, resource, text. --json has it as content.\n"
    assert capsys.readouterr() == ("hello\n", notice)
    call.print_answer(RESULT, Options(**{**OPTIONS, "json": True}))
    assert json.loads(capsys.readouterr().out) == {"result": "hello", "content": BLOCKS}
