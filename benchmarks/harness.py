"""The command of a benchmark, the processes that it starts, and the machine that it runs on."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from scripts import measured_tables

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
_SHOWN = 20
"""Problems that are printed."""

Measured = str | tuple[str, Sequence[str]]
"""The tables; and what must not happen, one sentence each."""


def run(
    about: str | None,
    command: str,
    measure: Callable[[argparse.Namespace], Measured],
    page: str | None = None,
    *modes: str,
    flags: Sequence[str] = (),
) -> int:
    """Measure, and print the tables or put them into a page.

    Args:
        about: The text of ``--help``.
        command: The command that a reader of the page uses, without ``ARGS``.
        measure: Returns the tables, for the options of the command line.
        page: The page of the documentation that has the tables.
        modes: Options beside ``--write``, of which at most one may be given.
        flags: Options that can be combined with each of them.

    Returns:
        The exit code: 1 where there are problems, or where ``--check`` finds other tables in the page.
    """
    options = measured_tables.parse_options(about, *(["--write"] if page else []), *modes, flags=flags)
    measured = measure(options)
    tables, problems = (measured, ()) if isinstance(measured, str) else measured
    return finish(options, command, tables, page, problems)


def finish(
    options: argparse.Namespace, command: str, tables: str, page: str | None = None, problems: Sequence[str] = ()
) -> int:
    """Do with ``tables`` what ``options`` say, print the first ``problems``, and return the exit code."""
    is_checked = getattr(options, "check", False)
    path = ROOT / page if page and (options.write or is_checked) else None
    code = measured_tables.update_page(path, f"{command} ARGS=--write", tables, write=not is_checked)
    print("".join(f"{problem}\n" for problem in problems[:_SHOWN]), file=sys.stderr, end="")
    return code or int(bool(problems))


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of measured processes: a package has its bytecode, so that compiling is not measured."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **variables}


def in_process(function: str, *arguments: Any, **variables: str) -> Any:
    """Return what ``MODULE:FUNCTION`` returns in a process of its own, with further environment variables."""
    return result(start(function, *arguments, **variables))


def start(function: str, *arguments: Any, **variables: str) -> subprocess.Popen[str]:
    """Start a process for ``MODULE:FUNCTION``; :func:`result` waits for it."""
    command = [sys.executable, "-m", "benchmarks.timing", function, json.dumps(arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, **variables}, cwd=ROOT, **pipes)


def result(process: subprocess.Popen[str]) -> Any:
    """Return what the function of a started process returns: the last line that it prints, as JSON.

    Raises:
        SystemExit: The process has failed; the end of what it wrote is in it.
    """
    printed, errors = process.communicate()
    if process.returncode or not printed:
        raise SystemExit(f"{process.args} failed:\n{errors[-2000:]}")
    return json.loads(printed.splitlines()[-1])


def track(items: Iterable[T], describe: Callable[[T], str]) -> Iterator[T]:
    """Yield ``items``, each after a line on stderr: nothing shares the processor with a measurement."""
    every = list(items)
    for number, item in enumerate(every, 1):
        print(f"{number}/{len(every)} {describe(item)}", file=sys.stderr, flush=True)
        yield item


def keep(results: Any, name: str) -> None:
    """Keep the results of a run in build/NAME/results.json."""
    folder = ROOT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")


def machine() -> Mapping[str, Any]:
    """Return the processor, the cores and the system of this machine."""
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.partition(":")[2].strip() for line in about.splitlines() if line.startswith("model name")), "?")
    release = subprocess.run(["uname", "-sm"], capture_output=True, text=True, check=True).stdout.strip()
    return {"processor": model, "cores": os.cpu_count(), "system": release}


def describe(machine: Mapping[str, Any]) -> str:
    """Return the result of :func:`machine` as a sentence."""
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}."


def measured_on() -> str:
    """Return the sentence that ends a page."""
    return f"Measured on {describe(machine())}\n"
