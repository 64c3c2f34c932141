"""Write the folder of a new source, completely or not at all, and make it work or say what to do next."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolfold.build import yaml_loader
from toolfold.build.importers import find_importer
from toolfold.build.text_safety import PROBLEM, find_typed_secrets
from toolfold.catalog.text_checks import host_of
from toolfold.cli import catalog_build, sources
from toolfold.cli.application import Options, os_errors
from toolfold.cli.output import print_message
from toolfold.cli.settings import LISTS, settings_path, write_settings
from toolfold.cli.terminal import Questions, confirm, is_interactive
from toolfold.errors import SourceError, ToolfoldError
from toolfold.settings.file import read_settings
from toolfold.settings.model import VARIABLES


@dataclass(frozen=True)
class Draft:
    """A source that is not written yet.

    Attributes:
        id: its id.
        settings: the content of source.yaml.
        files: further files: path in the folder → content.
        variables: settings that the operator must make: name → value, or what it is.
        is_refreshed: whether its tools are read by ``source refresh`` before it compiles.
        note: what a person should know of its calls.
    """

    id: str
    settings: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    variables: Sequence[tuple[str, str]] = ()
    is_refreshed: bool = False
    note: str = ""


def check_folder(folder: Path, source_id: str) -> None:
    """Check that a source can be written."""
    if folder.exists() and not folder.is_dir():
        raise ToolfoldError(f"{folder} is not a folder. Name another one with --folder.")
    if (folder / source_id).exists():
        raise ToolfoldError(
            f"{folder / source_id} exists, and nothing is overwritten. Choose another ID, edit the files, or first: "
            f"toolfold source remove {source_id}"
        )


def write(draft: Draft, options: Options, questions: Questions) -> int:
    """Show the source, write it, and make it work, or print what to do next; return the exit code."""
    folder: Path = options.folder
    target = folder / draft.id
    import yaml  # of the extra build

    text = str(yaml.safe_dump(dict(draft.settings), sort_keys=False, allow_unicode=True, width=100))
    print(f"{target / 'source.yaml'}:\n")
    print("".join(f"    {line}\n" for line in text.splitlines()))
    for _, name, advice in find_typed_secrets(draft.settings):
        print_message(f"warning: {name}: {PROBLEM}; {advice}\n")
    if questions.has_asked and not options.yes and not confirm("Write it?", "", default=True):
        print_message("Nothing was written.")
        return 1
    is_new = not folder.exists()
    try:
        with os_errors(f"{target} cannot be written", "Nothing was."):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as scratch:
                fresh = Path(scratch) / draft.id
                for name, content in {"source.yaml": text.encode(), **draft.files}.items():
                    (fresh / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
                    (fresh / name).write_bytes(content)
                stated = _check(fresh, draft, target)
                fresh.rename(target)
    finally:
        if is_new and folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
    names = dict.fromkeys(f"{name.partition('/')[0]}{'/' if '/' in name else ''}" for name in draft.files)
    print(f"Written: {', '.join(str(target / name) for name in ('source.yaml', *names))}{draft.note}")
    return _make_work(draft, options, stated)


def _check(fresh: Path, draft: Draft, target: Path) -> list[tuple[str, str]]:
    """Check the settings, and what can be read already; return the settings that this needs: of its host and key."""
    problems: list[str] = []
    needed: list[tuple[str, str]] = []
    document = yaml_loader.load(fresh / "source.yaml")
    importer = find_importer(str(draft.settings.get("kind"))).open(fresh, document, problems)
    if importer is not None and not draft.is_refreshed:
        found = importer.read(problems)
        if found is not None and found.source.auth is not None:
            needed.append((found.source.auth.environment, "YOUR_KEY"))
        needed += host_variables("" if found is None else found.source.base_url)
    if problems:
        raise SourceError(["Nothing was written:", *(one.replace(f"{fresh}/", f"{target}/") for one in problems)])
    return needed


def _make_work(draft: Draft, options: Options, stated: Sequence[tuple[str, str]]) -> int:
    """Write the settings, read the tools of the source and compile, or print what does; return the exit code.

    The settings come last, also after a failure: a server that runs reads them, and the catalog that they name, which
    must exist then.
    """
    catalog = str((options.folder / "catalog.json").resolve())
    path = settings_path(options.settings_file)
    in_shell = os.environ.keys() - options.from_file.keys()
    needed = [*draft.variables, *stated, ("TOOLFOLD_CATALOG", catalog)]
    stored = read_settings(path) if path.exists() else {}
    here = _missing(draft.id, needed, os.environ)
    # A variable of the shell overrides the file, which has no keys. What is enough here goes into the file as well,
    # for other shells.
    exports = {name: value for name, value in here.items() if name not in VARIABLES or name in in_shell}
    lacking = _missing(draft.id, needed, stored)
    in_file = {name: value for name, value in lacking.items() if name in VARIABLES and name not in exports}
    question = f"Set {', '.join(in_file)} in {path}, and compile the catalog?" if in_file else "Compile the catalog?"
    is_done = options.yes or (is_interactive() and confirm(question, "", default=True))
    if shown := exports if is_done else here:
        print("\nSettings that this source needs, here and where it is served:")
        print(*(f"  export {name}={shlex.quote(value)}" for name, value in shown.items()), sep="\n")
    option = "" if options.folder == Path("catalog") else f" --folder {options.folder}"
    refresh, compile_it = f"toolfold source refresh {draft.id}{option}", f"toolfold catalog compile{option}"
    if not is_done:
        print("\nNext (--yes does it):")
        if draft.is_refreshed:
            print(f"  {refresh}    reads its tools, which you then review")
        print(f"  {compile_it}\n  toolfold source test {draft.id}{option}")
        return 0
    without_secret = {name: value for name, value in exports.items() if value.startswith("sqlite:")}
    os.environ.update({name: value for name, value in here.items() if name not in exports} | without_secret)
    try:
        if draft.is_refreshed and exports.keys() - without_secret.keys():
            print(f"\nNext, when they are set:\n  {refresh} && {compile_it}")
            return 0
        code = 0
        if draft.is_refreshed:
            code = sources.refresh(Options(ids=(draft.id,), folder=options.folder, check=False))
        code = code or catalog_build.compile_catalog(
            Options(folder=options.folder, output=None, check=False, notes=False)
        )
    finally:
        if not Path(catalog).exists():
            in_file.pop("TOOLFOLD_CATALOG", None)
        if in_file:
            write_settings(path, in_file)
            print(f"Set in {path}: {', '.join(in_file)}")
    if not code:
        when = f"where {' and '.join(exports)} is set" if exports else "now"
        print(f"`toolfold stdio` and what `toolfold install CLIENT` starts serve {draft.id} {when}.")
        if "TOOLFOLD_CATALOG" in in_file:
            before = stored.get("TOOLFOLD_CATALOG") or "that of the package, with Alpha Vantage"
            print(f"They have this catalog from now on, not {before}: a server has one.")
    return code


def host_variables(*urls: str) -> list[tuple[str, str]]:
    """Return the setting that allows the host of each of ``urls``; nothing for an empty one."""
    return [("TOOLFOLD_ALLOWED_HOSTS", host) for url in urls if (host := host_of(url))]


def _missing(source_id: str, variables: Sequence[tuple[str, str]], known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ``known`` lacks; lists are made longer, so that what they have stays allowed."""
    needed: dict[str, str] = {}
    for name, value in variables:
        before = needed.get(name, known.get(name, ""))
        if name not in LISTS:
            if not before or (name == "TOOLFOLD_CATALOG" and before != value):
                needed[name] = value
            continue
        entries = [entry.strip().removeprefix(f"{source_id}=") for entry in before.split(",") if entry.strip()]
        command = f"{value.removeprefix(f'{source_id}=')} "
        if not any(command.startswith(f"{entry} ") for entry in entries):  # the first words allow a command
            needed[name] = f"{before},{value}" if before else value
    return needed
