"""Hooks of MkDocs (``make docs``): links to files outside ``docs/``, and a check that the site is self-contained.

A page links to source files with relative paths, which work on GitHub. The site has no source files, so such a link
becomes the path in code; one to a file that does not exist fails the build.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[(?P<text>[^\]\n]*(?:\n[^\]\n]+)?)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
# What a browser loads without a click; links that a reader follows may lead anywhere.
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|embed)\b[^>]*\bsrc=[\"']?(?P<src>(?:https?:)?//[^\"'\s>]+)"
    r"|<link\b[^>]*\bhref=[\"']?(?P<href>(?:https?:)?//[^\"'\s>]+)"
    r"|(?:url\(|@import\s+)[\"']?(?P<url>(?:https?:)?//[^\"')\s]+)",
    re.IGNORECASE,
)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return ``markdown`` with each link to a file outside ``docs/`` replaced by the path of that file."""
    folder = Path(page.file.abs_src_path).parent

    def replace(link: re.Match[str]) -> str:
        if ":" in link["target"]:
            return link[0]
        path = (folder / link["target"]).resolve()
        if path.is_relative_to(ROOT / "docs"):
            return link[0]
        if not path.exists():
            raise PluginError(f"{page.file.src_path}: there is no file {link['target']}")
        name = path.relative_to(ROOT).as_posix()
        text = link["text"].strip("`")
        return f"`{name}`" if text in {name, path.name} or name.endswith(text) else f"{link['text']} (`{name}`)"

    return _LINK.sub(replace, markdown)


def on_post_build(*, config: Any, **_: Any) -> None:
    """Fail the build when a page or a style sheet loads something from another host."""
    for path in Path(config["site_dir"]).rglob("*"):
        if path.suffix in {".html", ".css"}:
            for loaded in find_external(path.read_text(encoding="utf-8")):
                raise PluginError(f"{path}: loads {loaded}")


def find_external(text: str) -> list[str]:
    """Return the addresses on other hosts from which ``text``, HTML or CSS, loads something."""
    return [match["src"] or match["href"] or match["url"] for match in _LOADED.finditer(text)]
