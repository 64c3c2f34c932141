"""The meta-tools for a command, and what they answer for a person."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.meta_tools.result import Result


def tools() -> MetaTools:
    """The meta-tools with the settings of the environment, for a command on a person's machine."""
    from toolfold.catalog.store import open_store
    from toolfold.execution.executor import ToolExecutor
    from toolfold.local_defaults import with_local_defaults
    from toolfold.meta_tools.dispatcher import MetaTools

    settings = with_local_defaults(Settings.from_environment())
    return MetaTools(open_store(settings), ToolExecutor(settings))


def show(result: Result, as_json: bool) -> int:
    """Print a result, an error to stderr; the exit code: 0, or 1 for an error."""
    if as_json:
        print(json.dumps(result.structured, ensure_ascii=False))
    elif not result.is_error:
        print(result.text)
    else:
        error = result.structured["error"]
        print(f"{error['code']}: {error['message']}\n{error['suggestion']}", file=sys.stderr)
        for problem in error.get("problems", ()):
            print(f"  {problem['parameter']} {problem['problem']}: {problem['expected']}", file=sys.stderr)
    return 1 if result.is_error else 0
