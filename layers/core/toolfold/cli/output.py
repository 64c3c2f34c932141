"""The meta-tools for a command, and printing their results."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.meta_tools.result import Result


def meta_tools() -> MetaTools:
    """Return the meta-tools with the settings of the environment and the defaults of a user's machine."""
    from toolfold.app import build_app
    from toolfold.cache.factory import check_cache_file
    from toolfold.catalog.start_check import check_catalog
    from toolfold.local_defaults import with_local_defaults

    settings = Settings.from_environment()
    check_cache_file(settings)
    app = build_app(with_local_defaults(settings))
    check_catalog(settings, app.catalog_store)
    return app.server.tools


def print_result(result: Result, as_json: bool) -> int:
    """Print a result to stdout, or an error to stderr; return the exit code: 0, or 1 for an error."""
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
