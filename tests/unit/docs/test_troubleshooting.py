"""docs/how-to/troubleshooting.md: each message of toolfold is in its code or in its catalog."""

import ast
import re
from pathlib import Path

PAGE = Path("docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
OF_OTHERS = {
    *("spawn toolfold ENOENT", "Binary validation failed", "externally-managed-environment"),
}
MESSAGES = sorted(set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)) - OF_OTHERS)
assert MESSAGES


def text_of(node: ast.AST) -> str:
    """Return a string of the code, with \0 for each value in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return ""


def strings() -> str:
    """Return all strings of the code, and the YAML of the source."""
    found = [Path("catalog/alpha_vantage/source.yaml").read_text(encoding="utf-8")]
    for path in Path("layers/core/toolfold").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found += [
            re.sub(r"\{\w*\}", "\0", text_of(node)) for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)
        ]
    return "\n\n".join(found)


def test_every_message_of_the_page_is_one_of_the_code() -> None:  # N15
    known = strings()
    for message in MESSAGES:
        # Parts may be put together from several strings.
        assert not [part for part in message.split("…") if part.strip(" .:;,()") not in known], message
