"""``TOOL_SCRIPT(script, inputs)``: a script in a Python subset whose functions are the tools of the catalog."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, ScriptError
from toolfold.meta_tools.arguments import invalid, is_blank, parse_object, quote, read_value
from toolfold.meta_tools.call import answer_of, output_options
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.result import MetaRequest, Result, error_text, repeated_by, safe_line
from toolfold.meta_tools.script_calls import ScriptCalls, with_approval
from toolfold.results import output, tables
from toolfold.scripts.interpreter import MAX_SCRIPT_BYTES, Output, limit_error
from toolfold.scripts.values import TooLarge, to_json

TOOL = "TOOL_SCRIPT"

_ASK_LESS = "return fewer rows or only figures from the script, or use select in its calls"
"""How to ask for less, in a preview: TOOL_SCRIPT has no ``select``."""

_REPEAT_SCRIPT = "run the script again with approval_token among the arguments of this call"
"""What to do with an approval: outside a script, and in one."""

_ASSIGNMENT = re.compile(r"\s*[A-Za-z_][\w.\[\]'\"]*\s*(?::[^=]+)?=(?!=)")
"""The beginning of a line that sets a variable."""

_WORD = re.compile(r"[A-Za-z_]\w*")


def tool_script(request: MetaRequest) -> Result:
    """Run a script.

    Returns:
        ``{"result": the value of its last expression, "printed": text, "calls": [{"tool_name", "ok", "elapsed_ms", …}],
        "elapsed_ms", "upstream_requests"}``. Of a script that failed ``{"error", "printed", "calls"}``.

    Raises:
        InvalidArguments: there is no script, or its inputs are no object.
    """
    started = time.perf_counter()
    script, inputs = _read(request.arguments)
    max_tokens = read_value(TOOL, request.arguments, "max_tokens") or 0
    printed = Output()
    with Plan(request, with_approval) as calls:
        run = ScriptCalls(request, calls, script)
        try:
            if len(script.encode("utf-8", "surrogatepass")) > MAX_SCRIPT_BYTES:
                raise limit_error("script")
            value = request.interpreter().run(script, inputs, run.modules, run.call, run.settle, printed, calls.end)
            found = to_json(value)
        except TooLarge:
            return _failed(limit_error("result"), printed, run, started)
        except ScriptError as error:
            failed = _failed(run.with_hint(error), printed, run, started)
        except CallError as error:
            if error.code in ("APPROVAL_REQUIRED", "APPROVAL_PENDING"):
                error = repeated_by(error, _REPEAT_SCRIPT)
            failed = _failed(error, printed, run, started)
        else:
            return _answer(run, found, printed, _notes(script, found, printed), max_tokens, started)
        return failed._replace(answered=calls.progress(lacks_time=True))


def _read(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    script = arguments.get("script")
    if is_blank(script) or not isinstance(script, str):
        problem = "is missing" if is_blank(script) else f"must be text, not {quote(script)}"
        raise invalid(TOOL, f"script {problem}", "Send script as Python, e.g. \"call('NAME', argument=1)\".")
    given = arguments.get("inputs")
    inputs = {} if is_blank(given) else parse_object(given)
    if inputs is None:
        raise invalid(TOOL, f"inputs must be an object, not {quote(given)}", 'Send inputs as {"name": value}.')
    own = {name: value for name, value in inputs.items() if _WORD.fullmatch(name) and name not in ("call", "gather")}
    return _unfenced(script), {**own, "inputs": inputs}


def _unfenced(script: str) -> str:
    """Return a script without the fence of Markdown around it; the numbers of its lines stay."""
    text = script.strip()
    if not (text.startswith("```") and text.endswith("```")):
        return script
    first, _, rest = text[:-3].partition("\n")
    return "\n" + rest if first.strip("`").strip().lower() in ("", "python", "py") else script


def _entries(run: ScriptCalls) -> list[dict[str, Any]]:
    entries = []
    for item in run.items:
        entry: dict[str, Any] = {"tool_name": item.tool_name, "ok": item.answer is not None}
        if item.answer is not None:
            entry |= {"elapsed_ms": round(item.elapsed_s * 1000, 1), "cached": item.answer.status.cached}
        elif item.error is not None:
            entry["error"] = {key: value for key, value in item.error.as_dict().items() if key != "schema"}
        entries.append(entry)
    return entries


def _failed(error: CallError, printed: Output, run: ScriptCalls, started: float) -> Result:
    structured = {
        "error": error.as_dict(),
        "printed": printed.text,
        "calls": _entries(run),
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 1),
    }
    text = "\n".join([error_text(error), *_printed_lines(printed)])
    return Result(structured, text, is_error=True, errors=(error,))


def _printed_lines(printed: Output) -> list[str]:
    """Return what was printed as one line of JSON: it may have texts of a source in it."""
    return [safe_line(f"# printed: {json.dumps(printed.text, ensure_ascii=False)}")] if printed.text else []


def _notes(script: str, value: Any, printed: Output) -> tuple[str, ...]:
    """Return what the author of a script without a result may not expect."""
    last = script.rstrip().rpartition("\n")[2]
    if value is not None or (printed.text and _ASSIGNMENT.match(last) is None):
        return ()
    return ("The script has no result: the value of its last expression is. End it with what to return.",)


def _answer(
    run: ScriptCalls, value: Any, printed: Output, notes: tuple[str, ...], max_tokens: int, started: float
) -> Result:
    request, budget = run.request, WorkBudget(run.deadline)
    document = tables.from_value(value, budget) if value is not None else tables.Document(metadata=None)
    document = replace(document, notes=(*document.notes, *notes))
    answered = [item.answer for item in run.items if item.answer is not None]
    answer = answer_of(document, answered)
    size = len(json.dumps(value)) if value is not None else 4
    options = replace(output_options(request, max_tokens), ask_less=_ASK_LESS)
    rendered = output.render_document(document, options, answer.status, budget, size)
    structured = {
        **rendered.structured,
        "printed": printed.text,
        "calls": _entries(run),
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 1),
        "upstream_requests": answer.use.requests,
    }
    return Result(structured, "\n".join([rendered.text, *_printed_lines(printed)]), blocks=answer.blocks)
