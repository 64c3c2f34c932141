"""Update the example results in a document: each block that begins with ``> TOOL_LIST {…}`` or ``> TOOL_GET {…}``.

    python -m scripts.doc_examples FILE           fail when the results in FILE are not current
    python -m scripts.doc_examples FILE --write   write them into FILE

Only calls that need no key and no upstream are supported.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from toolfold.catalog.store import open_store
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings

_BLOCK = re.compile(r"(?<=```text\n)> (TOOL_LIST|TOOL_GET) (\{.*\})\n(?:.*\n)*?(?=```)")


def render_examples(document: str, tools: MetaTools) -> str:
    """Return ``document`` with the current results of its calls."""

    def answered(block: re.Match[str]) -> str:
        return f"> {block[1]} {block[2]}\n{tools.call(block[1], json.loads(block[2])).text}\n"

    return _BLOCK.sub(answered, document)


def main() -> int:
    """Check or write the results; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    settings = Settings.from_environment({})
    before = options.file.read_text(encoding="utf-8")
    after = render_examples(before, MetaTools(open_store(settings), ToolExecutor(settings)))
    if options.write:
        options.file.write_text(after, encoding="utf-8")
    elif after != before:
        print(f"{options.file} shows old answers. Run: python -m scripts.doc_examples {options.file} --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
