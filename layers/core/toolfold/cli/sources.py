"""``toolfold source list``, ``remove``, ``refresh``, ``test`` and ``review``: the sources that a catalog has."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.build.importers.base import RefreshReport, accept_texts
from toolfold.build.preparation import refresh_source, why_not
from toolfold.build.source_folders import (
    REMOVED,
    SourceFolder,
    find_source,
    list_sources,
    load_source,
)
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Tool
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.cli import output, terminal
from toolfold.cli.application import Options, os_errors
from toolfold.cli.call import parse_arguments
from toolfold.cli.error_text import for_person
from toolfold.cli.settings import settings_path
from toolfold.cli.terminal import confirm
from toolfold.errors import CallError, SourceError, ToolfoldError
from toolfold.extras import missing_extra
from toolfold.fuzzy import closest
from toolfold.settings import Settings
from toolfold.text_safety import counted, escape_unsafe

_LISTED = ("id", "kind", "title", "tools", "fetched", "state")


def list_folders(options: Options) -> int:
    """Print the sources and return 0."""
    found = [_entry(source) for source in list_sources(options.folder)]
    if options.json:
        output.print_json(found)
        return 0
    if not found:
        output.print_message(f"{options.folder} has no source. Add one: toolfold source add --help")
        return 0
    terminal.print_rows(_LISTED, [[entry[name] for name in _LISTED] for entry in found])
    for entry in found:
        for problem in entry["problems"]:
            output.print_wrapped(problem, "  ")
    return 0


def _entry(source: SourceFolder) -> dict[str, Any]:
    problems = [source.problem] if source.problem else []
    loaded = None if problems else load_source(source.folder, problems)
    problems += [] if loaded is None else loaded.left_out
    found = source.data if loaded is None else loaded.source._asdict()
    state = "works" if not problems else counted(len(problems), "problem")
    if loaded is None and not why_not(source):
        state = "to be refreshed"
    return {
        "id": source.id,
        "kind": source.kind,
        "title": str(found.get("title", "")),
        "tools": 0 if loaded is None else len(loaded.tools),
        "fetched": str(found.get("fetched_at", ""))[:16].replace("T", " "),
        "state": state,
        "problems": problems,
    }


def remove(options: Options) -> int:
    """Show what is removed, ask, and move it."""
    found = find_source(options.folder, options.id)
    files = sorted(path for path in found.folder.rglob("*") if path.is_file())
    print(f"{found.id} ({found.kind}): {counted(len(files), 'file')} in {found.folder}")
    if not options.yes and not confirm(f"Remove {found.id} from the catalog?", "Add --yes to remove the source."):
        output.print_message("Nothing was changed.")
        return 1
    # No catalog is compiled from a hidden folder.
    kept = options.folder / REMOVED / f"{found.folder.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    with os_errors(f"{found.folder} cannot be moved to {kept}", "Nothing was changed."):
        kept.parent.mkdir(exist_ok=True)
        found.folder.rename(kept)
    print(f"Removed {found.id}. To have it back: mv {kept} {found.folder}")
    last = "of the last one, unset TOOLFOLD_CATALOG, where `toolfold settings --set` has it from"
    print(f"Next: toolfold catalog compile --folder {options.folder}; {last}.")
    print(f"Hosts, commands and variables that were allowed for it stay in {settings_path(options.settings_file)}.")
    return 0


def refresh(options: Options) -> int:
    """Refresh the sources, one after the other, and return the exit code."""
    settings = Settings.from_environment()
    if options.ids:
        sources = [find_source(options.folder, source_id) for source_id in dict.fromkeys(options.ids)]
    else:
        sources = [source for source in list_sources(options.folder) if not why_not(source)]
    if not sources:
        print(f"No source in {options.folder} is read from elsewhere: there is nothing to refresh.")
        return 0
    reports = {source.id: _refresh(source, settings, check=options.check) for source in sources}
    changed = [source_id for source_id, report in reports.items() if report]
    failed = [source_id for source_id, report in reports.items() if report is None]
    if changed and options.check:
        output.print_message(f"Changed since the last refresh: {', '.join(changed)}. Run: toolfold source refresh")
    elif changed:
        print(f"Next: review the change, then toolfold catalog compile --folder {options.folder}")
    return 1 if failed or (changed and options.check) else 0


def _refresh(source: SourceFolder, settings: Settings, *, check: bool) -> RefreshReport | None:
    try:
        with output.waiting(f"Reading the tools of {source.id} …") as describe:
            report = refresh_source(source, settings, check=check, progress=describe)
    except ModuleNotFoundError as error:
        if not (missing := missing_extra(error)):
            raise
        output.print_wrapped(f"{source.id}: this needs {missing}", "  ")
        return None
    except ToolfoldError as error:
        text = f"{str(error).removeprefix(f'{source.id}: ').removesuffix('.')}."
        text = f"{text} {getattr(error, 'suggestion', '')}".rstrip()
        if isinstance(error.__cause__, CallError):  # worded for a model
            text = " ".join(for_person(error.__cause__))
        output.print_wrapped(f"{source.id}: {text} Nothing of it was written.", "  ")
        return None
    changes = (("+", "added", report.added), ("~", "changed", report.changed), ("-", "removed", report.removed))
    counts = ", ".join(f"{len(names)} {word}" for _, word, names in changes if names)
    print(f"{source.id}: {counts or 'no change'}")
    for sign, _, names in changes:
        for name in names:
            print(f"  {sign} {name}")
    for note in report.notes:
        output.print_message(f"{source.id}: {note}.")
    return report


_MAX_TOKENS = 500
"""Of the answer that is shown: enough to see that it is one."""


def test(options: Options) -> int:
    """Compile the source, call one of its tools, and print what happened."""
    source = find_source(options.folder, options.id)
    with tempfile.TemporaryDirectory(prefix="toolfold-source-") as folder:
        app = _make_app(source, Path(folder))
        tool = _choose(app.catalog_store(), source.id, options.tool)
        arguments = parse_arguments(options.arguments) if options.arguments else dict(tool.example)
        with output.waiting(f"Waiting for {tool.name} …"):
            call = {"tool_name": tool.name, "arguments": arguments, "max_tokens": _MAX_TOKENS}
            result = app.server.tools.call("TOOL_CALL", call)
    print("called", tool.name, *(shlex.quote(f"{name}={value}") for name, value in arguments.items()))
    if not result.is_error:
        print(result.text)
        output.print_message(f"{source.id} works.")
        return 0
    output.print_error(result.errors[0], tool.name)
    return 1


def _make_app(source: SourceFolder, folder: Path) -> App:
    """Return an App without a cache that has this source alone, copied into ``folder``, and the settings about it."""
    shutil.copytree(source.folder, folder / source.folder.name, symlinks=True)
    try:
        compiled = compile_folder(folder)
    except ToolfoldError as error:
        shown = str(error).replace(f"{folder}/", f"{source.folder.parent}/")
        raise ToolfoldError(f"{source.id} does not compile:\n{shown}") from None
    path, source_id = folder / "catalog.json", source.id
    path.write_text(compiled, encoding="utf-8")
    settings = Settings.from_environment()
    settings = settings.replaced(
        catalog=str(path),
        cache="off",
        source_urls={name: url for name, url in settings.source_urls.items() if name == source_id},
        keyed_sources=tuple(name for name in settings.keyed_sources if name == source_id),
    )
    refusal = AllowList(settings).first_refusal(parse_catalog(path.read_bytes()).sources)
    if refusal is not None:
        raise ToolfoldError(
            f"{source_id} names {refusal.what} that is not allowed here, {refusal.name}. "
            f"If it is right: export {refusal.setting}={shlex.quote(refusal.entry)}"
        )
    return build_app(settings)


def _choose(catalog: Catalog, source_id: str, name: str | None) -> Tool:
    """Return the tool to call, which only reads: the one that was named, or that with the fewest required arguments."""
    tools = [tool for found in catalog if (tool := catalog.get(found)) is not None]
    reading = [tool for tool in tools if tool.effect == "read" and not tool.needs_approval]
    if name is None and reading:
        return min(reading, key=lambda tool: len(tool.parameters.get("required", ())))
    if name is None:
        raise ToolfoldError(
            f"{source_id} has no tool that only reads, so nothing was called. For a tool that does, write into its "
            f"overlay.yaml: tools: {{{tools[0].name.rpartition('__')[2]}: {{effect: read}}}}"
        )
    found = catalog.get(name) or catalog.get(f"{source_id}__{name}")
    if found is None:
        raise ToolfoldError(f"{source_id} has no tool {name!r}.{closest(name, (tool.name for tool in tools))}")
    if found not in reading:
        raise ToolfoldError(
            f"{found.name} does more than read ({found.effect}), so it was not called. "
            f"After `toolfold catalog compile`, this calls it: toolfold call {found.name}"
        )
    return found


def review(options: Options) -> int:
    """Print the texts, note those that are accepted, and return 1 where others are left."""
    source, problems = find_source(options.folder, options.id), list[str]()
    loaded = load_source(source.folder, problems)
    if loaded is None:
        raise SourceError(problems)
    unread = {one.hash: one for one in loaded.unread}
    if wrong := [one for one in options.hashes if one not in unread]:
        raise ToolfoldError(
            f"{source.id} has no text {wrong[0]} to review. See them: toolfold source review {source.id}"
        )
    if not unread:
        print(f"Every text of {source.id} is read: there is nothing to review.")
        return 0
    accepted = set(unread) if options.yes else set(options.hashes)
    for number, (digest, one) in enumerate(unread.items(), 1):
        if digest in accepted or not accepted:
            where = f"tool {one.tool}" if one.tool else one.field
            print(f"{number} of {len(unread)}, {one.hash}: {where} {one.finding}")
            for line in one.text.strip().split("\n"):  # whole, without what would be invisible or act on the terminal
                for part in terminal.wrap(escape_unsafe(line), terminal.width() - 4):
                    print(f"    {part}")
            print()
    if accepted:
        with os_errors(f"The overlay of {source.id} cannot be written"):
            accept_texts(source.folder, sorted(accepted))
        print(f"Accepted {len(accepted)} of {counted(len(unread), 'text')}: {source.folder / 'overlay.yaml'}")
        print(f"Next: toolfold catalog compile --folder {options.folder}")
    else:
        output.print_message(f"Accept some with their HASH, or all with --yes: toolfold source review {source.id}")
    return 0 if len(accepted) == len(unread) else 1
