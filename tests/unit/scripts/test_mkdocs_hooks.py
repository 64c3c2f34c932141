"""scripts/mkdocs_hooks.py: links to source files, and what a page may load."""

from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

from scripts import mkdocs_hooks

PAGE = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(mkdocs_hooks.ROOT / "docs/index.md"), src_path="index.md"))


def convert(markdown: str) -> str:
    return mkdocs_hooks.on_page_markdown(markdown, page=PAGE)


def test_link_to_a_source_file_becomes_its_path():
    assert convert("[`pyproject.toml`](../pyproject.toml)") == "`pyproject.toml`"
    assert convert("[the settings](../pyproject.toml#L1)") == "the settings (`pyproject.toml`)"


def test_links_to_pages_and_to_other_hosts_are_unchanged():
    text = "[a](reference/errors.md#x) [b](https://example.org/x) [c](#heading)"
    assert convert(text) == text


def test_link_to_a_missing_file_fails_the_build():
    with pytest.raises(PluginError, match="no file"):
        convert("[a](../no-such-file.py)")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.test/x.js">', ["https://cdn.test/x.js"]),
        ('<link rel="stylesheet" href="//cdn.test/x.css">', ["//cdn.test/x.css"]),
        ("@font-face { src: url(https://fonts.test/x) }", ["https://fonts.test/x"]),
        ('<a href="https://example.org">', []),
        ('<script src="js/base.js">', []),
    ],
)
def test_what_a_page_loads_from_other_hosts_is_found(text: str, found: list[str]):
    assert mkdocs_hooks.find_external(text) == found
