"""``toolfold source test``: make one call of a tool that only reads, and say what failed."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.build.source_folders import SourceFolder, find_source
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import parse_catalog
from toolfold.cli import output, progress
from toolfold.cli.application import Options
from toolfold.cli.call import parse_pairs
from toolfold.errors import CallError, ToolfoldError
from toolfold.fuzzy import did_you_mean
from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

_MAX_TOKENS = 500
"""Of the answer that is shown: enough to see that it is one."""

_MAX_NAMED = 10


class _Outcome(NamedTuple):
    """What a test did: ``error`` is None where the tool answered, and ``text`` is the answer in short.

    ``is_example`` says whether the arguments are the example in the catalog.
    """

    tool: str
    arguments: Mapping[str, Any]
    compile_s: float
    call_s: float
    text: str = ""
    error: CallError | None = None
    is_example: bool = False


def run(options: Options) -> int:
    """Compile the source, call one of its tools, and print what happened."""
    source = find_source(options.folder, options.id)
    started = time.perf_counter()
    with _compiled(source) as (path, compile_s):
        outcome = _call(_make_app(path, source.id), source, options, compile_s)
    if options.json:
        output.print_json(_as_json(source.id, outcome, time.perf_counter() - started))
    else:
        _print(source.id, outcome)
    return 0 if outcome.error is None else 1


@contextmanager
def _compiled(source: SourceFolder) -> Iterator[tuple[Path, float]]:
    """Yield a catalog of this source alone: what is wrong with the others has no influence."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="toolfold-test-") as scratch:
        folder = Path(scratch) / "catalog"
        shutil.copytree(source.folder, folder / source.folder.name, symlinks=True)
        try:
            compiled = compile_folder(folder)
        except ToolfoldError as error:
            shown = str(error).replace(f"{folder}/", f"{source.folder.parent}/")
            raise ToolfoldError(f"{source.id} does not compile:\n{shown}") from None
        path = Path(scratch) / "catalog.json"
        path.write_text(compiled, encoding="utf-8")
        yield path, time.perf_counter() - started


def _make_app(path: Path, source_id: str) -> App:
    """Return an App with the settings of the environment that are about this source, without a cache."""
    settings = Settings.from_environment()
    settings = settings.replaced(
        catalog=str(path),
        cache="off",
        source_urls={name: url for name, url in settings.source_urls.items() if name == source_id},
        keyed_sources=tuple(name for name in settings.keyed_sources if name == source_id),
    )
    _check_allowed(path, source_id, settings)
    return build_app(settings)


def _check_allowed(path: Path, source_id: str, settings: Settings) -> None:
    """Check that the settings allow what the source names.

    Raises:
        ToolfoldError: they do not; says which setting does.
    """
    refusal = AllowList.from_settings(settings).first_refusal(parse_catalog(path.read_bytes()).sources)
    if refusal is not None:
        raise ToolfoldError(
            f"{source_id} names {refusal.what} that is not allowed here, {refusal.name}. "
            f"If it is right: export {refusal.setting}={refusal.entry}"
        )


def _call(app: App, source: SourceFolder, options: Options, compile_s: float) -> _Outcome:
    catalog = app.catalog_store()
    tool = _choose(catalog, source.id, options.tool)
    arguments = dict(tool.example)
    if options.arguments:
        arguments = parse_pairs(options.arguments)
    started = time.perf_counter()
    with progress.waiting(f"Waiting for {tool.name} …"):
        call = {"tool_name": tool.name, "arguments": arguments, "max_tokens": _MAX_TOKENS}
        result = app.server.tools.call("TOOL_CALL", call)
    call_s = time.perf_counter() - started
    error = result.errors[0] if result.is_error else None
    return _Outcome(tool.name, arguments, compile_s, call_s, result.text, error, not options.arguments)


def _choose(catalog: Catalog, source_id: str, name: str | None) -> Tool:
    """Return the tool to call: the one that was named, or the one with the fewest required arguments.

    Raises:
        ToolfoldError: there is no such tool, or it does more than read.
    """
    tools = [tool for found in catalog if (tool := catalog.get(found)) is not None]
    reading = [tool for tool in tools if tool.effect == "read" and not tool.needs_approval]
    named = ", ".join(tool.name for tool in reading[:_MAX_NAMED]) or "none"
    if name is None:
        if not reading:
            raise ToolfoldError(
                f"{source_id} has no tool that only reads, so nothing was called. If one of its {len(tools)} tools "
                "does, correct it in overlay.yaml: tools: {NAME: {effect: read}}"
            )
        return min(reading, key=lambda tool: len(tool.parameters.get("required", ())))
    found = catalog.get(name) or catalog.get(f"{source_id}__{name}")
    if found is None:
        names = {tool.name.rpartition("__")[2]: tool.name for tool in tools}
        hint = did_you_mean(name.rpartition("__")[2], names, shown=names.__getitem__).strip() or f"It has: {named}."
        raise ToolfoldError(f"{source_id} has no tool {name!r}. {hint}")
    if found.effect != "read" or found.needs_approval:
        raise ToolfoldError(
            f"{found.name} does more than read ({found.effect}), so it was not called. Tools that only read: {named}"
        )
    return found


def _print(source_id: str, outcome: _Outcome) -> None:
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in outcome.arguments.items())
    print(f"compiled  {outcome.compile_s * 1000:8.1f} ms")
    print(f"called    {outcome.call_s * 1000:8.1f} ms  {outcome.tool} {given}".rstrip())
    if outcome.error is None:
        print(outcome.text)
        print(f"{source_id} works.", file=sys.stderr)
        return
    output.print_error(outcome.error, outcome.tool)
    if outcome.is_example and "upstream_says" in outcome.error.details:
        print(
            f"{source_id} answers, but refuses these arguments, which are the example of the tool. Try others:"
            f" toolfold source test {source_id} {outcome.tool} NAME=VALUE; or correct example in overlay.yaml.",
            file=sys.stderr,
        )


def _as_json(source_id: str, outcome: _Outcome, total_s: float) -> dict[str, Any]:
    return {
        "source": source_id,
        "tool": outcome.tool,
        "arguments": dict(outcome.arguments),
        "ok": outcome.error is None,
        "ms": {
            "compile": round(outcome.compile_s * 1000, 1),
            "call": round(outcome.call_s * 1000, 1),
            "total": round(total_s * 1000, 1),
        },
        **({"answer": outcome.text} if outcome.error is None else {"error": outcome.error.as_dict()}),
    }
