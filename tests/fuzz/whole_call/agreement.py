"""Read the text of a result independently of the code that wrote it, and compare it with the structured result."""

import csv
import io
import json
import re
from typing import Any

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
