"""Write the folder of a new source, completely or not at all, and say what to do next."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolfold.build import yaml_loader
from toolfold.build.importers import find_importer
from toolfold.build.importers.skills import read_skills, write_skills
from toolfold.build.typed_secrets import PROBLEM, find_typed_secrets
from toolfold.catalog.text_checks import host_of
from toolfold.cli import catalog_build, sources
from toolfold.cli.application import Options
from toolfold.cli.settings import LISTS, settings_path, write_settings
from toolfold.cli.terminal import Questions, confirm, is_interactive
from toolfold.errors import SourceError, ToolfoldError
from toolfold.settings.model import is_setting, source_of


@dataclass(frozen=True)
class Draft:
    """A source that is not written yet.

    Attributes:
        id: its id.
        settings: the content of source.yaml.
        files: further files: name → content.
        skills: folders of skills to copy: name → where from.
        variables: settings that the operator must make: name → value, or what it is.
        is_refreshed: whether its tools are read by ``source refresh`` before it compiles.
        note: what a person should know of its calls.
    """

    id: str
    settings: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    skills: Mapping[str, Path] = field(default_factory=dict)
    variables: Sequence[tuple[str, str]] = ()
    is_refreshed: bool = False
    note: str = ""


def check_folder(folder: Path, source_id: str | None) -> None:
    """Check that a source can be written."""
    if folder.exists() and not folder.is_dir():
        raise ToolfoldError(f"{folder} is not a folder. Name another one with --folder.")
    if source_id and (folder / source_id).exists():
        raise ToolfoldError(
            f"{folder / source_id} exists, and nothing is overwritten. Choose another ID, edit the files, or first: "
            f"toolfold source remove {source_id}"
        )


def write(draft: Draft, options: Options, questions: Questions) -> int:
    """Show the source, write it, and make it work, or print what to do next."""
    folder: Path = options.folder
    check_folder(folder, draft.id)
    import yaml  # of the extra build

    text = str(yaml.safe_dump(dict(draft.settings), sort_keys=False, allow_unicode=True, width=100))
    print(f"{folder / draft.id / 'source.yaml'}:\n")
    print("".join(f"    {line}\n" for line in text.splitlines()))
    for _, name, advice in find_typed_secrets(draft.settings):
        print(f"warning: {name}: {PROBLEM}; {advice}\n", file=sys.stderr)
    if not options.yes and not questions.is_confirmed("Write it?"):
        print("Nothing was written.", file=sys.stderr)
        return 1
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as scratch:
            fresh = Path(scratch) / draft.id
            fresh.mkdir(mode=0o755)
            (fresh / "source.yaml").write_text(text, encoding="utf-8")
            for name, content in draft.files.items():
                (fresh / name).write_bytes(content)
            for name, origin in draft.skills.items():
                write_skills(fresh / name, read_skills(origin))
            stated = _check(fresh, draft, folder)
            fresh.rename(folder / draft.id)
    except OSError as error:
        raise ToolfoldError(f"{folder / draft.id} cannot be written: {error.strerror}. Nothing was.") from None
    finally:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
    return _print_written(draft, options, stated)


def _check(fresh: Path, draft: Draft, folder: Path) -> list[tuple[str, str]]:
    """Check the settings, and what can be read already; return the settings that this needs: of its host and key."""
    problems: list[str] = []
    needed: list[tuple[str, str]] = []
    document = yaml_loader.load(fresh / "source.yaml")
    importer = find_importer(str(draft.settings.get("kind"))).open(fresh, document, problems)
    if importer is not None and not draft.is_refreshed:
        found = importer.read(problems)
        if found is not None and found.auth is not None:
            needed.append((str(found.auth.entry(draft.id)["environment"]), "YOUR_KEY"))
        needed += host_variables("" if found is None else found.base_url)
    if problems:
        shown = [problem.replace(f"{fresh}/", f"{folder / draft.id}/") for problem in problems]
        raise SourceError(["Nothing was written:", *shown])
    return needed


def _print_written(draft: Draft, options: Options, stated: list[tuple[str, str]]) -> int:
    """Print what was written; make the source work, or print what does; return the exit code."""
    folder: Path = options.folder
    names = ["source.yaml", *draft.files, *(f"{name}/" for name in draft.skills)]
    print(f"Written: {', '.join(str(folder / draft.id / name) for name in names)}{draft.note}")
    catalog = str((folder / "catalog.json").resolve())
    served = [] if os.environ.get("TOOLFOLD_CATALOG") == catalog else [("TOOLFOLD_CATALOG", catalog)]
    variables = _missing(draft.id, [*draft.variables, *stated, *served])
    in_file = {
        name: value
        for name, value in variables.items()
        # It has no key, and the environment does not override it.
        if is_setting(name) and not source_of(name) and (name not in os.environ or name in options.from_file)
    }
    exports = {name: value for name, value in variables.items() if name not in in_file}
    path = settings_path(options.settings_file)
    question = f"Set {', '.join(in_file)} in {path}, and compile the catalog?" if in_file else "Compile the catalog?"
    if options.yes or (is_interactive() and confirm(question, "", default=True)):
        return _make_work(draft, options, path, in_file, exports)
    _print_exports({**exports, **in_file})
    option = "" if folder == Path("catalog") else f" --folder {folder}"
    print("\nNext (--yes does it):")
    if draft.is_refreshed:
        print(f"  toolfold source refresh {draft.id}{option}    reads its tools, which you then review")
    print(f"  toolfold catalog compile{option}")
    print(f"  toolfold source test {draft.id}{option}")
    return 0


def _make_work(
    draft: Draft, options: Options, path: Path, in_file: Mapping[str, str], exports: Mapping[str, str]
) -> int:
    """Read the tools of the source, compile the catalog, and write the settings; return the exit code.

    The settings come last, also after a failure: a server that runs reads them, and the catalog that they name.
    """
    os.environ.update(in_file)
    _print_exports(exports)
    try:
        if draft.is_refreshed and exports:
            step = f"toolfold source refresh {draft.id} && toolfold catalog compile"
            print(f"\nNext, when they are set:\n  {step}")
            return 0
        if draft.is_refreshed and (
            code := sources.refresh(Options(ids=(draft.id,), folder=options.folder, check=False))
        ):
            return code
        code = catalog_build.compile_catalog(Options(folder=options.folder, output=None, check=False, notes=False))
    finally:
        if in_file:
            write_settings(path, in_file)
            print(f"Set in {path}: {', '.join(in_file)}")
    if not code:
        print(f"`toolfold stdio` and what `toolfold install CLIENT` starts serve {draft.id} now.")
    return code


def _print_exports(variables: Mapping[str, str]) -> None:
    if variables:
        print("\nSettings that this source needs, here and where it is served:")
        for name, value in variables.items():
            print(f"  export {name}={shlex.quote(value)}")


def host_variables(*urls: str) -> list[tuple[str, str]]:
    """Return the setting that allows the host of each of ``urls``; nothing for an empty one."""
    return [("TOOLFOLD_ALLOWED_HOSTS", host) for url in urls if (host := host_of(url))]


def _missing(source_id: str, variables: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that are not set yet; lists are made longer, so that what they have stays allowed."""
    needed: dict[str, str] = {}
    for name, value in variables:
        known = needed.get(name, os.environ.get(name, ""))
        if name not in LISTS:
            if not known or name == "TOOLFOLD_CATALOG":
                needed[name] = value
            continue
        entries = [entry.strip().removeprefix(f"{source_id}=") for entry in known.split(",") if entry.strip()]
        command = f"{value.removeprefix(f'{source_id}=')} "
        if not any(command.startswith(f"{entry} ") for entry in entries):  # the first words allow a command
            needed[name] = f"{known},{value}" if known else value
    return needed
