"""Each error in both wordings: for a model that acts for a user, and for the person at the terminal."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from toolfold import errors, messages
from toolfold.catalog.model import Catalog
from toolfold.cli.wording import for_person

SOURCES = Path(errors.__file__).parent

FOR_MODELS = re.compile(r"(?i)(ask|tell) the (user|operator)|\bTOOL_(LIST|GET|CALL)\b|retry_after_s|upstream_says")
"""Words for a model."""

ERRORS: dict[str, dict[str, Any]] = {
    "TOOL_NOT_FOUND": {
        "message": "There is no tool named 'QUOT'.",
        "suggestion": "Did you mean GLOBAL_QUOTE(symbol, datatype?)? TOOL_LIST() lists all.",
    },
    "INVALID_ARGUMENTS": {
        "message": "SMA: interval 'day' is not an allowed value: string (2 more in problems).",
        "suggestion": messages.CORRECT_ARGUMENTS.for_model,
    },
    "AUTH_REQUIRED": {
        "message": "Alpha Vantage needs an API key, and none was given.",
        "suggestion": messages.SET_KEY.for_model.format(
            variable="ALPHA_VANTAGE_API_KEY",
            header=", or to send it as Authorization: Bearer or X-API-Key",
            signup="; a key is at https://www.example.com/key",
        ),
    },
    "TOOL_NOT_EXPOSED": {
        "message": "SMA is described here, but its calls are switched off; nothing was sent.",
        "suggestion": "Take another tool, which TOOL_LIST finds; the operator can switch it on.",
    },
    "CONTEXT_MISMATCH": {
        "message": "SMA belongs to the context charts, which is not the one of this connection; nothing was sent.",
        "suggestion": "Tell the user to connect to /mcp/charts for it, or take another tool, which TOOL_LIST finds.",
        "context": "charts",
        "profiles": ["charts"],
    },
    "WRITE_NOT_ALLOWED": {
        "message": "TOOL_CALL only reads, and SMA changes data; nothing was sent.",
        "suggestion": "Call TOOL_CALL_WRITE with the same tool_name and arguments.",
    },
    "SOURCE_CHANGED": {
        "message": "Clock changed now since its description was read; nothing was sent.",
        "suggestion": "Do not call it again; tell the operator to run: toolfold source refresh clock",
    },
    "CANCELLED": {
        "message": "The client cancelled this call.",
        "suggestion": "Call again if the answer is needed.",
    },
    "INSUFFICIENT_SCOPE": {
        "message": "The access token lacks the scope tools:call; nothing was sent.",
        "suggestion": messages.AUTHORIZE_AGAIN.for_model,
    },
    "APPROVAL_REQUIRED": {
        "message": "CLOSE needs approval; nothing was sent.",
        "suggestion": messages.ASK_USER.for_model,
        "approval_token": "Ab-1",
    },
    "APPROVAL_PENDING": {
        "message": "CLOSE is not approved yet; nothing was sent.",
        "suggestion": messages.LET_APPROVE.for_model.format(approval_token="Ab-1"),
        "approval_token": "Ab-1",
    },
    "APPROVAL_DENIED": {"message": "The user does not allow this call.", "suggestion": messages.DENIED.for_model},
    "APPROVAL_UNAVAILABLE": {
        "message": "Approvals cannot be recorded.",
        "suggestion": messages.TELL_OPERATOR.for_model,
    },
    "AUTH_REJECTED": {"message": "X does not accept the API key.", "suggestion": messages.CHECK_KEY.for_model},
    "RATE_LIMITED": {"message": "X is limiting calls.", "suggestion": errors.WAIT, "retry_after_s": 7},
    "CLIENT_LIMIT": {"message": "60 calls are used up.", "suggestion": errors.WAIT, "retry_after_s": 7},
    "PREMIUM_ONLY": {
        "message": "This function needs a premium key.",
        "suggestion": "Choose a tool that TOOL_LIST does not mark, or tell the user that a premium plan is needed.",
    },
    "NO_DATA": {"message": "X has no data for these arguments.", "suggestion": "Check the symbol with SYMBOL_SEARCH."},
    "UPSTREAM_ERROR": {
        "message": "X sent a notice instead of data.",
        "suggestion": messages.READ_NOTICE.for_model,
        "upstream_says": "We are moving.",
    },
    "UPSTREAM_TIMEOUT": {"message": "X did not answer in time.", "suggestion": messages.SLOW.for_model},
    "ANSWER_TOO_LARGE": {
        "message": "The response is larger than 25 MB.",
        "suggestion": "Ask for less: a smaller max_tokens, or select=\"last 5\".",
    },
    "CATALOG_UNAVAILABLE": {
        "message": "The tool catalog is damaged.",
        "suggestion": "Tell the operator, who can compile the catalog again, and publish it where it is in S3.",
    },
    "REFERENCE_NOT_FOUND": {
        "message": "Step 1: found.x: nothing is there; there are: rows, columns.",
        "suggestion": "Correct the path by these keys, or call with return: all to see the answers.",
    },
    "SCRIPT_SYNTAX": {
        "message": "The script cannot be parsed: unexpected EOF while parsing.",
        "suggestion": "Correct this line; nothing was called.",
    },
    "SCRIPT_ERROR": {
        "message": "Line 3: ZeroDivisionError: division by zero.",
        "suggestion": "Correct the script; calls that have succeeded are cached.",
    },
    "SCRIPT_LIMIT": {"message": "A script cannot sleep.", "suggestion": "Leave it out."},
    "SCRIPTS_UNAVAILABLE": {
        "message": "Scripts cannot be run here: a package is missing.",
        "suggestion": "Scripts need the extra: pip install 'toolfold[scripts]'.",
    },
    "INTERNAL_ERROR": {"message": "toolfold failed on this call.", "suggestion": messages.REPORT.for_model},
}  # fmt: skip

STEPS = {
    "TOOL_NOT_FOUND": "Did you mean `toolfold call GLOBAL_QUOTE symbol=… [datatype=…]`? `toolfold catalog list` lists "
    "all.",
    "INVALID_ARGUMENTS": "`toolfold catalog get SMA` describes the arguments. Nothing was sent.",
    "AUTH_REQUIRED": "Set ALPHA_VANTAGE_API_KEY, e.g. export ALPHA_VANTAGE_API_KEY=YOUR_KEY; a key is at "
    "https://www.example.com/key.",
    "TOOL_NOT_EXPOSED": "Take another tool, which `toolfold catalog search` finds; you can switch it on.",
    "CONTEXT_MISMATCH": "Connect to /mcp/charts for it, or take another tool, which `toolfold catalog search` finds.",
    "WRITE_NOT_ALLOWED": "Call `toolfold call` with the same tool_name and arguments.",
    "SOURCE_CHANGED": "Do not call it again; run: toolfold source refresh clock",
    "CANCELLED": "Call again if the answer is needed.",
    "INSUFFICIENT_SCOPE": "Authorize this client again, with that scope.",
    "APPROVAL_REQUIRED": "Repeat it with --approval-token Ab-1 if you agree.",
    "APPROVAL_PENDING": "Run `toolfold approve Ab-1`, then repeat it with --approval-token Ab-1.",
    "APPROVAL_DENIED": "It was denied; call it again to ask again.",
    "APPROVAL_UNAVAILABLE": "The line above says why.",
    "AUTH_REJECTED": "Check the key in your environment; `toolfold doctor` helps.",
    "RATE_LIMITED": "Wait 7 seconds and call again.",
    "CLIENT_LIMIT": "Wait 7 seconds and call again.",
    "PREMIUM_ONLY": "Choose a tool that `toolfold catalog search` does not mark; otherwise a premium plan is needed.",
    "NO_DATA": "Check the symbol with SYMBOL_SEARCH.",
    "UPSTREAM_ERROR": "The service says: We are moving.",
    "UPSTREAM_TIMEOUT": "Try again in a moment, or ask for less. TOOLFOLD_TIMEOUT_S allows more time; --verbose shows "
    "where it went.",
    "ANSWER_TOO_LARGE": 'Ask for less: a smaller --max-tokens, or --select "last 5".',
    "CATALOG_UNAVAILABLE": "Compile the catalog again, and publish it where it is in S3.",
    "REFERENCE_NOT_FOUND": "Correct the path by these keys, or call with return: all to see the answers.",
    "SCRIPT_SYNTAX": "Correct this line; nothing was called.",
    "SCRIPT_ERROR": "Correct the script; calls that have succeeded are cached.",
    "SCRIPT_LIMIT": "Leave it out.",
    "SCRIPTS_UNAVAILABLE": "Scripts need the extra: pip install 'toolfold[scripts]'.",
    "INTERNAL_ERROR": "Try again; if it fails again, report it with the lines above and the version "
    "(`toolfold --version`).",
}
"""The next steps for a person."""


def test_every_code_is_here() -> None:
    assert ERRORS.keys() == STEPS.keys() == errors.CALL_ERRORS.keys()


@pytest.mark.parametrize("code", ERRORS)
def test_each_error_has_two_wordings(code: str, monkeypatch: pytest.MonkeyPatch) -> None:  # N6
    monkeypatch.setattr("os.name", "posix")
    message, step = for_person({"code": code, **ERRORS[code]}, "sma")
    assert step == STEPS[code]
    assert not FOR_MODELS.search(message + step)
    assert "more in problems" not in message


@pytest.mark.parametrize("name", [name for name, found in vars(messages).items() if found in messages.TABLE])
def test_table_is_complete_and_found_by_the_models_text(name: str) -> None:  # N6
    wording: messages.Wording = getattr(messages, name)
    fields = {
        "variable": "REQUESTS_CA_BUNDLE", "header": "", "signup": "", "host": "api.example", "title": "The service",
        "reason": "DNS lookups do not end", "ratio": "100", "max_mb": "25", "smaller_response_hint": "Ask for less.",
        "approval_token": "Ab-1",
    }  # fmt: skip
    message = wording.message.format(**fields) or "Something failed."
    error = {
        "message": message,
        "suggestion": wording.for_model.format(**fields),
        "upstream_says": "no",
        "approval_token": "Ab-1",
    }
    shown, step = for_person(error, environment={})
    assert shown == message
    assert not FOR_MODELS.search(step)
    assert "{" not in step
    if wording.for_person:
        literal = max((text for text, *_ in string.Formatter().parse(wording.for_person)), key=len)
        assert literal in step
    assert re.search(r"[.?]$|: no$", step)


def test_faults_of_the_catalog_speak_to_a_person(catalog: Catalog) -> None:  # N6
    for source in catalog.sources:
        texts = [fault["suggestion"] for fault in source.faults] + [source.no_data]
        for text in texts:
            step = for_person({"message": "", "suggestion": text})[1]
            assert not FOR_MODELS.search(step)
            assert step[0].isupper() or step[0] == "`"


def test_texts_of_the_code_speak_to_a_person() -> None:  # N6
    """Every text with an instruction for a model, as the CLI would print it."""
    found = 0
    for path in SOURCES.rglob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if re.search("(?i)(ask|tell) the", source) else ():
            if not isinstance(node, ast.Constant | ast.JoinedStr):
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
            if re.match(r"(?i)[^\n]*(ask|tell) the (user|operator)", text):
                found += 1
                assert not FOR_MODELS.search(for_person({"message": "", "suggestion": text})[1])
    assert found > 20


def test_call_of_a_model_becomes_a_command() -> None:
    call = {"tool_name": "SMA", "arguments": {"symbol": "A B", "time_period": 20}, "select": "last 5"}
    step = for_person({"message": "", "suggestion": f"Call TOOL_CALL again with {json.dumps(call)}."})[1]
    assert step == "Write `toolfold call SMA 'symbol=A B' time_period=20 --select 'last 5'`."
    broken = for_person({"message": "", "suggestion": 'Call TOOL_CALL again with {"tool_name": 1'})[1]
    assert "`toolfold call`" in broken


@pytest.mark.parametrize(
    ("proposed", "command"),
    [
        ({"TOOL_CALL": {"tool_name": "WTI", "arguments": {"interval": "daily"}}}, "toolfold call WTI interval=daily"),
        ({"TOOL_GET": {"tool_name": ["WTI", "CPI"]}}, "toolfold catalog get WTI CPI"),
        ({"TOOL_LIST": {"query": "oil price"}}, "toolfold catalog search oil price"),
        ({"TOOL_LIST": {}}, ""),
        ({"OTHER": {"query": "x"}}, ""),
    ],
)
def test_proposed_call_is_a_command(proposed: dict[str, Any], command: str) -> None:
    error = {"message": "", "suggestion": "Correct it. In next_call interval is an example.", "next_call": proposed}
    tried = f"\nTry: {command} (interval is an example)" if command else ""
    assert for_person(error)[1] == f"Correct it.{tried}"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1, "1 second"), (90, "90 seconds"), (600, "10 minutes"), (54000, "15 hours")]
)
def test_wait_is_in_a_readable_unit(seconds: int, shown: str) -> None:
    assert for_person({"message": "", "suggestion": errors.WAIT, "retry_after_s": seconds})[1] == (
        f"Wait {shown} and call again."
    )
    error = {"message": "", "suggestion": "Use another key.", "retry_after_s": seconds}
    assert for_person(error)[1].endswith(f"again in {shown}.") is (seconds >= 120)


def test_missing_key_is_explained_to_a_person(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # N6
    monkeypatch.delenv("ALPHA_VANTAGE_API_KEY")
    code, out, err = run("call", "GLOBAL_QUOTE", "symbol=IBM")
    assert (code, out) == (1, "")
    assert err.startswith(
        "AUTH_REQUIRED: Alpha Vantage needs an API key, and none was given.\nSet ALPHA_VANTAGE_API_KEY"
    )
    assert "https://www.alphavantage.co/support/#api-key" in err
    model = json.loads(run("call", "GLOBAL_QUOTE", "symbol=IBM", "--json")[1])["error"]
    assert model["suggestion"].startswith("Ask the user to set ALPHA_VANTAGE_API_KEY")
