"""Judge an input: what must hold for every caller, for any call and any bytes of the upstream."""

import csv
import io
import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz.whole_call.inputs import CallInput, spellings
from tests.fuzz.whole_call.upstream import FIXED_BODY, ORDINARY_CSV, ORDINARY_JSON
from tests.fuzz.whole_call.world import HONEST_KEY, MAX_TOKENS, OPERATOR_KEY, TIMEOUT_S, Answer, World
from toolfold.results import tokens

MAX_CPU_S = TIMEOUT_S + 0.5
MAX_TIME_S = TIMEOUT_S + 15.0
"""A call ends at its deadline; half a second more is for what it was doing then, the rest for a busy machine."""

MAX_MEMORY_BYTES = 512 << 20
MAX_WORKERS = 40
"""Threads that the local server may keep for further requests."""

MAX_ERROR_CHARS = 40_000
MIN_TOKENS, MAX_TOKENS_CEILING = 500, 50_000
_MIN_SECRET_CHARS = 8


class Finding(Exception):
    """A violated invariant; ``str()`` names it, without the input."""


class Judge:
    """Check inputs in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._fixed = {}
        for transport in ("event", "http"):
            world.reset()
            for _ in range(3):  # the first calls import modules
                answer = world.call(CallInput(transport=transport), HONEST_KEY, fixed=True)
            assert answer.code == "OK", answer
            self._fixed[transport] = _comparable(answer)
        self._threads = threading.active_count()

    def check(self, sent: CallInput) -> None:
        """Make the calls of an input.

        Raises:
            Finding: an invariant is violated.
        """
        world = self.world
        world.upstream.current = sent
        # Another caller: with a key, or without one (then the operator's is used), unless the first caller had none.
        honest = HONEST_KEY if not sent.key.strip() or len(sent.body) % 2 else ""
        world.reset()
        before = self._call(sent, honest)
        world.reset()
        _reset_peak()
        resident = _memory("VmRSS")
        answers = [self._call(sent, sent.key) for _ in range(sent.times)]
        if _memory("VmHWM") - resident > MAX_MEMORY_BYTES:
            raise Finding("more memory than a call may use")
        fixed = world.call(CallInput(transport=sent.transport), honest, fixed=True)
        wanted = self._fixed["http" if sent.transport == "http" else "event"]
        if not _ran_out_of_time(fixed) and _comparable(fixed) != wanted:
            raise Finding(f"another call of another caller is answered differently: {fixed.code}")
        after = self._call(sent, honest)
        # Data that an upstream gives to one key alone is another caller's too, unless it repeats the key.
        is_data = answers[-1].code not in _FAILURES
        is_shared = sent.served_to == "caller" and is_data and not sent.echoes()
        # A few characters in base64 are like any others.
        is_shared |= is_data and len(sent.key) < _MIN_SECRET_CHARS and bool(sent.echoes() - {"plain"})
        if not is_shared and not _same(before, after):
            raise Finding(f"another caller is answered differently: {before.code}, then {after.code}")
        if threading.active_count() > self._threads + MAX_WORKERS:
            raise Finding("threads are left")

    def check_at_once(self, sent: CallInput) -> None:
        """Make the call with two keys at the same time; the answer of the second must be its own.

        Raises:
            Finding: it is not.
        """
        self.world.upstream.current = sent
        self.world.reset()
        alone = self._call(sent, HONEST_KEY)
        self.world.reset()
        together = self.world.at_once(sent, (sent.key, HONEST_KEY))[1]
        if not _same(alone, together):
            raise Finding(f"another caller at the same time is answered differently: {alone.code}, {together.code}")

    def _call(self, sent: CallInput, key: str) -> Answer:
        answer = self.world.call(sent, key)
        if answer.cpu_s > MAX_CPU_S or answer.took_s > MAX_TIME_S:
            raise Finding(f"a call takes longer than its deadline: {answer.code}")
        _check_message(answer)
        _check_secrets(sent, answer)
        _check_result(sent, answer)
        return answer


def _check_message(answer: Answer) -> None:
    """Check that the answer is a response of MCP, and no defect."""
    if answer.status == 0:  # the client could not send it
        return
    if answer.status >= 500:
        raise Finding(f"HTTP status {answer.status}")
    # Only servers of other tests, in threads of this process, are made of socketserver.
    if "Traceback" in answer.log and "socketserver.py" not in answer.log:
        raise Finding(f"a traceback in the log: {answer.log}")
    if answer.status != 200:
        return
    try:
        message = json.loads(answer.body, parse_constant=no_json)
    except (ValueError, RecursionError):
        raise Finding("the body is not JSON") from None
    if "error" in message:
        return
    result = message["result"]
    if set(result) - {"_meta"} != {"content", "structuredContent", "isError"}:
        raise Finding("no result of a tool")
    if answer.code == "INTERNAL_ERROR":
        place = re.search(r"defect in \w+: (.*?)[\"\\]", answer.log)
        raise Finding(f"INTERNAL_ERROR {place[1] if place else ''}")


def no_json(constant: str) -> None:
    """Refuse a constant that is not in JSON: NaN, and the infinities."""
    raise ValueError(constant)


def _check_secrets(sent: CallInput, answer: Answer) -> None:
    """Check that no key is in the answer, in a file that it names, or in the log."""
    known = _known_text(sent)
    written = [answer.body, answer.log, *_files(answer)]
    for secret, owner in (
        (OPERATOR_KEY, "the operator's"),
        (HONEST_KEY, "another caller's"),
        (sent.key.strip(), "the caller's"),
    ):
        # Escapes of JSON are removed before a text is searched: what is left of the key must be long enough.
        if len(secret.replace("\\", "")) < _MIN_SECRET_CHARS or secret in known:
            continue
        for spelling in spellings(secret, _MIN_SECRET_CHARS):
            if spelling in known:
                continue
            for text in written:
                if spelling in text:
                    raise Finding(f"{owner} key is in {'the log' if text is answer.log else 'an answer'}")


def _known_text(sent: CallInput) -> str:
    """Return what the caller and the upstream wrote by themselves."""
    ordinary = (FIXED_BODY + ORDINARY_JSON + ORDINARY_CSV).decode()
    return sent.template() + json.dumps([sent.arguments, sent.options, sent.tool], ensure_ascii=False) + ordinary


def _files(answer: Answer) -> Iterable[str]:
    full = _preview(answer).get("full", {})
    if isinstance(full, dict) and "path" in full:
        path = Path(full["path"])
        if not path.is_file():
            raise Finding("the file that a preview names does not exist")
        yield path.read_text()


def _preview(answer: Answer) -> dict[str, Any]:
    found = answer.result.get("structuredContent", {}).get("preview")
    return found if isinstance(found, dict) else {}


def _check_result(sent: CallInput, answer: Answer) -> None:
    """Check the size of the text, and that it says the same as the structured result."""
    result = answer.result
    if not result:
        return
    texts = [item["text"] for item in result["content"] if item.get("type") == "text"]
    if not texts or len(texts) != len(result["content"]):
        raise Finding("content that is not text")
    text, structured = texts[0], result["structuredContent"]
    if result["isError"]:
        if json.loads(text) != structured:
            raise Finding("text and structured error differ")
        if len(text) > MAX_ERROR_CHARS:
            raise Finding(f"an error of more than {MAX_ERROR_CHARS} characters")
        return
    limit = _token_limit(sent)
    # A token has at least one byte.
    if len(text.encode()) > limit and tokens.count(text) > limit:
        raise Finding("more tokens than allowed")
    if problem := disagreement(text, structured):
        raise Finding(problem)


def _token_limit(sent: CallInput) -> int:
    given = sent.options.get("max_tokens")
    try:
        wanted = MAX_TOKENS if given is None else int(float(given))
    except (ValueError, TypeError, OverflowError):
        wanted = MAX_TOKENS
    return max(MIN_TOKENS, min(wanted, MAX_TOKENS_CEILING))


def _comparable(answer: Answer) -> Any:
    """Return what must be equal for equal calls: not ages, times, requests to the upstream, and names of files."""
    result = answer.result
    if not result:
        return answer.status, answer.body
    structured = dict(result["structuredContent"])
    if result["isError"]:
        error = structured["error"]
        return error["code"], error["message"]
    for name in ("cached", "age_s", "elapsed_ms", "upstream_ms", "upstream_requests", "reasoning"):
        structured.pop(name, None)
    text = json.dumps([structured, result["content"]], sort_keys=True)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
    return re.sub(r"/[^\s\"\\]*/answers/[\w.-]+", "FILE", text)


_FAILURES = ("UPSTREAM_ERROR", "UPSTREAM_TIMEOUT", "AUTH_REJECTED", "RATE_LIMITED", "PREMIUM_ONLY", "NO_DATA")
_TRANSIENT = ("UPSTREAM_ERROR", "UPSTREAM_TIMEOUT")
_OUT_OF_TIME = frozenset({"UPSTREAM_TIMEOUT", "ANSWER_TOO_LARGE"})


def _ran_out_of_time(answer: Answer) -> bool:
    """Return whether the time of a call has ended it, which a step that would take too long does in advance."""
    return answer.took_s >= TIMEOUT_S or "in the time of one call" in str(_comparable(answer))


def _same(before: Answer, after: Answer) -> bool:
    """Return whether two answers say the same.

    Failures of the upstream may be worded by when they were noticed, and an answer that was shaped until the deadline
    is not saved anywhere.
    """
    if before.code in _TRANSIENT and after.code in _TRANSIENT:
        return True
    if _ran_out_of_time(before) or _ran_out_of_time(after):
        return before.code == after.code or not _OUT_OF_TIME.isdisjoint((before.code, after.code))
    return bool(_comparable(before) == _comparable(after))


def _reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _memory(name: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0


_SAFE_CELL = re.compile(r"[\w .:-]*", re.ASCII)
"""Cells that are written as they are; others may be quoted and escaped."""

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal or a model could take for something else than data."""


def disagreement(text: str, structured: dict[str, Any]) -> str:
    """Return what the text says and the structured result does not, or an empty string."""
    if "result" not in structured:
        return "an answer without a result"
    result, preview = structured["result"], structured.get("preview")
    if preview is not None and preview["rows_shown"] > preview["rows_total"]:
        return "a preview shows more rows than there are"
    if isinstance(result, str) and "\n" in result:
        return ""  # the upstream's own CSV
    if _UNSAFE.search(text):
        return "a control character in a text"
    lines = text.split("\n")
    notices = [line for line in lines if line.startswith("#")]
    tables = _tables(result)
    if not tables:
        return _value_disagreement(lines, notices, result, preview)
    # The age, the notes, the preview, and a heading for each of several tables.
    allowed = (preview is not None) + ("late" in structured or structured.get("age_s", 0) >= 300)
    allowed += len(structured.get("notes", ()))
    allowed += len(tables) if len(tables) > 1 else 0
    if len(notices) > allowed:
        return "data looks like a notice"
    if any(line.startswith("# Preview") for line in notices) != (preview is not None):
        return "the notice of a preview in one form only"
    if len(tables) > 1:
        return ""
    return _table_disagreement([line for line in lines if not line.startswith("#")], tables[0], "meta" in result)


def _tables(result: Any) -> list[dict[str, Any]]:
    if not isinstance(result, dict):
        return []
    if set(result) <= {"columns", "rows", "row_count", "meta"} and "columns" in result and "row_count" in result:
        return [result]
    if set(result) <= {"tables", "meta"} and isinstance(result.get("tables"), dict):
        tables = list(result["tables"].values())
        return tables if all(isinstance(table, dict) and "columns" in table for table in tables) else []
    return []


def _value_disagreement(lines: list[str], notices: list[str], result: Any, preview: Any) -> str:
    data = [line for line in lines if not line.startswith("#")]
    if isinstance(result, str) and "\n".join(data) == result:
        return ""  # CSV of the upstream's own, of which a preview has nothing but the header
    try:
        parsed = json.loads("\n".join(data))
    except ValueError:
        return "a text without a table is not JSON"
    if isinstance(parsed, dict) and preview is not None and "preview" in parsed and not notices:
        parsed = {"result": parsed["result"]}
    elif (preview is not None) != any(line.startswith("# Preview") for line in notices):
        return "the notice of a preview in one form only"
    return "" if parsed in (result, {"result": result}) else "text and structured result differ"


def _table_disagreement(lines: list[str], table: dict[str, Any], has_meta: bool) -> str:
    lines = lines[1:] if has_meta else lines
    rows = [table["columns"], *table["rows"]]
    # A cell with a list makes every line a JSON array.
    if any(isinstance(cell, list | dict) for row in table["rows"] for cell in row):
        try:
            return "" if [json.loads(line) for line in lines] == rows else "text and structured rows differ"
        except ValueError:
            return "a line with a list is not JSON"
    if len(table["columns"]) < 2:
        return ""
    records = [record for record in csv.reader(io.StringIO("\n".join(lines), newline="")) if record]
    if len(records) != len(rows):
        return "the text has another number of rows"
    for record, row in zip(records, rows, strict=True):
        if len(record) != len(row) or not all(map(_is_same, record, row)):
            return "text and structured cells differ"
    return ""


def _is_same(text: str, cell: Any) -> bool:
    if cell is None or isinstance(cell, bool):
        return text == {None: "", True: "true", False: "false"}[cell]
    if isinstance(cell, int | float):
        return float(text) == float(cell)
    return text == cell or not _SAFE_CELL.fullmatch(cell)
