"""Stamp a built template, so that its deployment publishes a version of the function.

``make deploy`` runs it after ``sam build``::

    python -m scripts.stamp_template .aws-sam/build/template.yaml --also samconfig.toml --options "$ARGS"

The stamp is the time and a hash of the built code and layers, of the template and of the parameters. It has the time
because parameters may change where no file shows it: in the console, and at the prompts of ``--guided``.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

_UNSTAMPED = re.compile(r"(?m)^(\s*Stamp: )unstamped\s*$")

_STAMPED = re.compile(r"(?m)^\s*Stamp: (\d{8}-\d{6}-[0-9a-f]{12})$")
"""What is expected in the file afterwards. A description of Lambda has 256 characters at most."""


class StampError(Exception):
    """The template cannot be stamped."""


def hash_files(paths: Iterable[Path], *texts: str) -> str:
    """Return a hash of files, of all files below folders, and of texts.

    Names and contents count; times and permissions do not.
    """
    digest = hashlib.sha256()
    for top in paths:
        found = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())
        for path in found:
            # The lengths separate names and contents from each other.
            name, content = path.relative_to(top.parent).as_posix().encode(), path.read_bytes()
            digest.update(b"%d %d " % (len(name), len(content)) + name + content)
    for text in texts:
        digest.update(b"text %d " % len(text.encode()) + text.encode())
    return digest.hexdigest()


def stamp_template(template: Path, stamp: str) -> None:
    """Write ``stamp`` into the built template, and read it again.

    Raises:
        StampError: The template has no place for it, or another one.
    """
    stamped, count = _UNSTAMPED.subn(rf"\g<1>{stamp}", template.read_text(encoding="utf-8"))
    if count != 1:
        raise StampError(f"{template} has {count} lines 'Stamp: unstamped', not one: run `make build` again.")
    template.write_text(stamped, encoding="utf-8")
    found = _STAMPED.findall(template.read_text(encoding="utf-8"))
    if found != [stamp]:
        raise StampError(f"{template} has the stamps {found}, not {stamp!r}.")


def main(argv: list[str] | None = None) -> int:
    """Stamp the template and print the stamp."""
    parser = argparse.ArgumentParser(description="Stamp a built template before it is deployed.")
    parser.add_argument("template", type=Path, help="the template that `sam build` wrote, beside code and layers")
    parser.add_argument("--also", type=Path, action="append", default=[], help="files with values of parameters")
    parser.add_argument("--options", default="", help="options of `sam deploy`, which may have values of parameters")
    given = parser.parse_args(argv)
    try:
        # The options may contain a key: only the hash is stored.
        content = hash_files([given.template.parent, *given.also], given.options)
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{content[:12]}"
        stamp_template(given.template, stamp)
    except (OSError, StampError) as error:
        print(f"Not deployed: {error}", file=sys.stderr)
        return 1
    print(f"Stamp: {stamp}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
