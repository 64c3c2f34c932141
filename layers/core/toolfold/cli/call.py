"""``toolfold call``: call one tool and print its answer; and ``toolfold approve``, for a call that waits for a person.

An answer is a table on a terminal, and CSV or JSON in a pipe or a file. The data alone are printed to stdout. What a
reader must know about them is printed to stderr: how old they are, notes, metadata that a table has no column for, and
what is not shown.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolfold.aws.clients import AwsClients
from toolfold.cache.stores import Unavailable
from toolfold.cli import output, terminal
from toolfold.cli.application import Options, os_errors
from toolfold.cli.entry_point import output_errors
from toolfold.cli.output import print_error, print_json, print_notice, print_result, print_trace
from toolfold.cli.tools import meta_tools
from toolfold.errors import ToolfoldError
from toolfold.execution.approval import ApprovalDesk
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.private_folder import replace_file
from toolfold.results.output import AnswerStatus
from toolfold.results.tables import Table
from toolfold.settings import Settings
from toolfold.text_safety import load_json

_MOST = 100
"""Rows that a terminal shows: two or three screens."""


def run(options: Options) -> int:
    """Call the tool and print or write its answer."""
    file = None if options.output in (None, "-") else _writable(options.output, overwrite=options.force)
    tools = meta_tools(options)
    if options.verbose and isinstance(tools, MetaTools):
        tools.executor.http_client().on_request = print_trace
    given = {
        "select": options.select,
        "max_tokens": options.max_tokens,
        "fresh": options.fresh or None,
        "approval_token": options.approval_token,
    }
    call = {
        "tool_name": options.tool_name,
        "arguments": parse_arguments(options.arguments),
        **{name: value for name, value in given.items() if value is not None},
    }
    with output.waiting(f"Waiting for {options.tool_name} …"):
        result = tools.call("TOOL_CALL", call, whole=options.max_tokens is None)
    if result.is_error or "result" not in result.structured:  # of another meta-tool, if its name was given
        return print_result(result, options.json, options.tool_name)
    if file is None:
        print_answer(result, options)
    else:  # in UTF-8 on any terminal
        written = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", newline="")
        with contextlib.redirect_stdout(written):
            print_answer(result, options)
            written.flush()
        content = written.buffer.getvalue()
        with os_errors(f"{file} cannot be written", "Name another file."):
            replace_file(file, content, overwrite=options.force)
        print_notice(f"Wrote {len(content):,} bytes to {file}.")
    failed = [part for part in result.structured.get("results", ()) if "error" in part]
    for part, error in zip(failed, result.errors, strict=True):  # of a batch whose one answer is printed
        print_notice(f"{part['id']} failed.")
        print_error(error, part["tool_name"])
    return 0


def _writable(name: str, *, overwrite: bool) -> Path:
    """Return the path of a file that can be written, before anything is called."""
    given = Path(name).expanduser()
    path = Path(os.path.realpath(given))
    if not path.parent.is_dir() or (given.exists() and not given.is_file()):  # a folder, or a device
        raise ToolfoldError(f"{name} is no file in a folder that exists. Name another file.")
    if path.exists() and not overwrite:
        raise ToolfoldError(f"{name} exists. Add --force to replace it, or name another file.")
    return path


def parse_arguments(words: Sequence[str]) -> dict[str, Any]:
    """Parse ``key=value`` words, or one JSON object; a key that is repeated has a list."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        step = """Write them as '{"symbol": "IBM"}', or as symbol=IBM"""
        with os_errors("The arguments are not valid JSON", step, ValueError, RecursionError):
            return dict(load_json(words[0]))
    values: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals or not key:
            raise ToolfoldError(f"Arguments are key=value, such as symbol=IBM, not {word!r}.")
        values.setdefault(key, []).append(value)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}


def approve(options: Options) -> int:
    """Show a waiting call, and approve or deny it: as an option says, or as the person does.

    Raises:
        ToolfoldError: there is no such call, or no terminal for the question.
    """
    with os_errors("The approvals of the server cannot be reached", "", Unavailable):
        desk = ApprovalDesk(Settings.from_environment(), AwsClients())
        call = desk.find(options.token)
        terms, left_s = call.terms, max(0, round(call.record.expires_at - time.time()))
        arguments = json.loads(terms.arguments)
        fields = {
            "tool": f"{terms.tool} ({terms.source}, {terms.endpoint})",
            "effect": call.record.reason,
            **{f"  {name}": json.dumps(value, ensure_ascii=False) for name, value in arguments.items()},
            "caller": terms.principal or "not known: no access token and no key in the request",
            "expires": f"in {left_s // 60} min {left_s % 60} s",
            "approval": call.id,
        }
        with contextlib.redirect_stdout(sys.stderr):
            terminal.print_fields(fields)
        if not (options.yes or options.deny or terminal.is_interactive()):
            raise ToolfoldError("There is no terminal for the question. Use --yes or --deny.")
        is_approved = options.yes or (not options.deny and terminal.confirm("Approve this call?", ""))
        desk.decide(call, approve=is_approved)
    print("Approved. The call can be repeated with this token, once." if is_approved else "Denied.")
    return 0 if is_approved or options.deny else 1


def print_answer(result: Result, options: Options) -> None:
    """Print an answer in the form that ``options`` of ``toolfold call`` name, else by the data and the terminal."""
    by_name = {".csv": "csv", ".json": "json"}.get(Path(options.output or "").suffix.lower(), "")
    form = "structured" if options.json else options.format or ("csv" if options.csv else by_name)
    data = result.structured["result"]
    is_terminal = terminal.is_terminal(sys.stdout)
    most = _MOST if is_terminal and not options.all else sys.maxsize
    _print_notices(result.structured)
    if form == "structured":
        print_json({**result.structured, "content": result.blocks} if result.blocks else result.structured)
        return
    if result.blocks:
        names = ", ".join(str(block.get("type", "")) for block in result.blocks)
        print_notice(f"Not shown: {names}. --json has it as content.")
    raw = data if isinstance(data, str) else ""
    if raw and form not in ("", "csv"):
        raise ToolfoldError(f"datatype requests the service's own form; leave it out for --format {form}.")
    tables = tables_of(data)
    is_json = form == "json" or (not form and len({table.columns for table in tables}) != 1)
    if raw:
        _print_raw(raw, most)
    elif form == "table" or (not form and is_terminal):
        _print_tables(data, tables, most)
    elif is_json:
        if tables and "columns" in data and data.get("meta"):
            print_notice(terminal.cell_text(data["meta"]))
        print_json(_objects(data, tables), indent=2)
    else:
        if tables and data.get("meta"):
            print_notice(terminal.cell_text(data["meta"]))
        print(_to_csv(data, tables), end="")


def _print_raw(raw: str, most: int) -> None:
    """Print the upstream's own text: byte for byte in a pipe."""
    if (binary := getattr(sys.stdout, "buffer", None)) and not terminal.is_terminal(sys.stdout):
        sys.stdout.flush()
        with output_errors():
            binary.write(raw.encode("utf-8", "surrogatepass") + (b"" if raw.endswith("\n") else b"\n"))
            binary.flush()
    else:
        lines = [line.removesuffix("\r") for line in raw.removesuffix("\n").split("\n")]
        print(*_first(lines, most, "lines"), sep="\n")


def _first(lines: Sequence[Any], most: int, what: str) -> Sequence[Any]:
    """Return the first of many lines: a table has its newest there, as most series begin with them."""
    if len(lines) > most:
        print_notice(f"{most} of {len(lines):,} {what}. --all prints all of them; --output FILE writes them.")
    return lines[:most]


def _print_notices(structured: Mapping[str, Any]) -> None:
    status = AnswerStatus(structured.get("cached", False), structured.get("age_s", 0), structured.get("late", ""))
    if line := status.line().strip("# \n"):
        print_notice(f"{line}." if status.stale_reason else f"{line}; --fresh requests it again.")
    for note in structured.get("notes", ()):
        print_notice(note)
    if printed := structured.get("printed"):  # of a script
        print_notice(printed.rstrip("\n"))
    if preview := structured.get("preview"):
        full = preview["full"]
        where = full.get("path") or full.get("url")
        whole = f"({full['tokens']:,} tokens{f'; saved as {where}' if where else ''})"
        shown = f"Preview: {preview['rows_shown']:,} of {preview['rows_total']:,} rows"
        print_notice(f"{shown}; left out: {preview['left_out']}. --select returns another part of all {whole}.")


def tables_of(data: Any) -> list[Table]:
    """Return the tables of a structured result; none where it has another form."""
    if not isinstance(data, dict):
        return []
    if isinstance(data.get("tables"), dict) and data.keys() <= {"tables", "meta"}:
        return [Table(name, tuple(table["columns"]), table["rows"]) for name, table in data["tables"].items()]
    is_table = {"columns", "rows", "row_count"} <= data.keys()
    return [Table("", tuple(data["columns"]), data["rows"])] if is_table else []


def _to_csv(data: Any, tables: Sequence[Table]) -> str:
    """Return tables with the same columns as one, or a flat object as a row."""
    if not tables and _is_flat(data):
        tables = [Table("", tuple(data), [list(data.values())])]
    if len({table.columns for table in tables}) != 1:
        raise ToolfoldError("This answer is not one table: use --format json, or --select a table of it.")
    is_named = len(tables) > 1
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*(["table"] if is_named else []), *tables[0].columns])
    for table in tables:
        for row in table.rows:
            cells = [
                json.dumps(cell, ensure_ascii=False, separators=(",", ":"))
                if isinstance(cell, bool | list | dict)
                else cell
                for cell in row
            ]
            writer.writerow([*([table.name] if is_named else []), *cells])
    return buffer.getvalue()


def _objects(data: Any, tables: Sequence[Table]) -> Any:
    """Return tables as lists of objects; other data as they are."""
    if not tables:
        return data
    lists = {table.name: [dict(zip(table.columns, row, strict=False)) for row in table.rows] for table in tables}
    if "columns" in data:
        return lists[""]
    return {**({"meta": data["meta"]} if data.get("meta") else {}), **lists}


def _is_flat(data: Any) -> bool:
    return isinstance(data, dict) and bool(data) and not any(isinstance(cell, list | dict) for cell in data.values())


def _print_tables(data: Any, tables: Sequence[Table], most: int) -> None:
    if not tables and _is_flat(data):
        terminal.print_fields(data)
    elif not tables:
        print_json(data, indent=2)
    meta = data.get("meta") if tables else None
    if meta:
        terminal.print_fields(meta if isinstance(meta, dict) else {"": meta})
    for number, table in enumerate(tables):
        name, columns, rows = table.name, table.columns, table.rows
        if meta or number:
            print()
        if name:
            print(f"{terminal.cell_text(name)}:")
        if not rows:
            print(", ".join(map(terminal.cell_text, columns)))
            print_notice("No rows.")
        elif len(rows) == 1 and terminal.can_draw(sys.stdout):
            terminal.print_fields(dict(zip(columns, rows[0], strict=False)))
        elif hidden := terminal.print_table(columns, _first(rows, most, "rows")):
            print_notice(f"No room for {', '.join(hidden)}: --select the columns you need, or --format csv.")
