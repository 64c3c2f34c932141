"""toolfold's three meta-tools, for every peer.

The definitions are read at the start; the rest of toolfold is imported by the first call, so that the measured start of
a peer contains its own library only.

The definitions come from ``meta_tools.json`` beside this file, which ``benchmarks.peers`` writes.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import Any

with open(os.path.join(os.path.dirname(__file__), "meta_tools.json")) as _file:
    _given = json.load(_file)

instructions: str = _given["instructions"]
definitions: dict[str, dict[str, Any]] = {definition["name"]: definition for definition in _given["tools"]}


def call(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the ``toolfold.meta_tools.result.Result`` of a meta-tool."""
    return _tools().call(name, arguments)


@functools.cache
def _tools() -> Any:
    from toolfold.catalog.store import open_store
    from toolfold.execution.executor import ToolExecutor
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.settings import Settings

    settings = Settings.from_environment(os.environ)
    return MetaTools(open_store(settings), ToolExecutor(settings))
