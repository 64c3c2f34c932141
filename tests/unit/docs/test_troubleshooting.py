"""docs/how-to/troubleshooting.md: each message of toolfold is in its code or in its catalog."""

import re
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

PAGE = Path("docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
OF_OTHERS = {"spawn toolfold ENOENT"}
MESSAGES = sorted(set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)) - OF_OTHERS)
assert MESSAGES


def texts_in(constant: object) -> Iterator[str]:
    """Yield the strings of compiled code; of an f-string each part between two values."""
    if isinstance(constant, str):
        yield re.sub(r"\{\w*\}", "\0", constant)
    inner = constant.co_consts if isinstance(constant, CodeType) else constant
    if isinstance(inner, tuple | frozenset):
        for one in inner:
            yield from texts_in(one)


def strings() -> str:
    """Return all strings of the code, and the YAML of the source."""
    found = [Path("catalog/alpha_vantage/source.yaml").read_text(encoding="utf-8")]
    for path in Path("layers/core/toolfold").rglob("*.py"):
        found += texts_in(SourceFileLoader(path.stem, str(path)).get_code(path.stem))
    return "\n\n".join(found)


def test_every_message_of_the_page_is_one_of_the_code() -> None:  # N15
    known = strings()
    for message in MESSAGES:
        # Parts may be put together from several strings.
        assert not [part for part in message.split("…") if part.strip(" .:;,()") not in known], message
