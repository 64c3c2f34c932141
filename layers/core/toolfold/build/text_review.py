"""Find the texts of an imported source that look like instructions to a model, and note that a person has read them.

A tool with such a text is left out until then, and so is the text of a source itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from toolfold.build.importers.base import (
    OVERLAY,
    ImportedSource,
    ImporterSettings,
    Overlay,
    ToolOverlay,
    read_overlay,
)
from toolfold.build.prompt_injection import find_prompt_injection
from toolfold.build.yaml_loader import Document

_HASH_DIGITS = 12


class UnreadText(NamedTuple):
    """A text that a person has to read before a model does; ``str()`` is the line about it.

    ``tool`` is empty for a text of the source itself, whose ``field`` is ``description`` or ``instructions``.
    ``finding`` is what it looks like, as a verb, and an excerpt; joined, where it is more.
    """

    source: str
    tool: str
    field: str
    where: str
    finding: str
    text: str

    @property
    def hash(self) -> str:
        """The hash with which ``overlay.yaml`` says that a person has read this text of this tool."""
        name = self.tool or self.source
        return hashlib.sha256(f"{name}\n{self.text}".encode()).hexdigest()[:_HASH_DIGITS]

    def __str__(self) -> str:
        what = f"{self.tool} is left out: a text" if self.tool else f"{self.field} of {self.source} left out: the text"
        return f"{self.where}: {what} {self.finding}. Read and accept it: toolfold source review {self.source}"


def unread_texts(
    settings: ImporterSettings, document: Document, found: ImportedSource, overlay: Overlay
) -> Iterator[UnreadText]:
    """Yield the texts of a source that look like instructions to a model and that no person has read yet."""
    texts: list[tuple[str, str, str, str]] = []
    for tool in found.tools:
        own = overlay.tools.get(tool.name, ToolOverlay())
        described = "" if own.description else tool.description
        listed = (described, tool.title, tool.summary, *_schema_texts(tool.parameters))
        texts += ((tool.name, "", tool.where(), text) for text in dict.fromkeys(listed))
    where = document.where(())
    texts.append(("", "description", where, "" if settings.description else found.description))
    texts.append(("", "instructions", where, found.instructions))
    for tool_name, field, at, text in texts:
        finding = " and ".join(f"{kind}: {excerpt}" for kind, excerpt in find_prompt_injection(text))
        unread = UnreadText(settings.id, tool_name, field, at, finding, text)
        if finding and unread.hash not in overlay.reviewed:
            yield unread


def _schema_texts(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("description", "title") and isinstance(value, str):
                yield value
            else:
                yield from _schema_texts(value)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _schema_texts(inner)


def accept_texts(folder: Path, hashes: Collection[str]) -> None:
    """Add ``hashes`` to ``reviewed`` in the overlay of the source in ``folder``; what else is in the file stays.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = folder / OVERLAY
    known = read_overlay(folder, [], []).reviewed
    added = "".join(f"  - {one}\n" for one in dict.fromkeys((*known, *hashes)))
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    root = yaml.compose(text)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "reviewed":
            rest = text[value.end_mark.index :].lstrip()
            path.write_text(f"{text[: key.end_mark.index]}:\n{added}{rest}", encoding="utf-8")
            return
    start = f"{text.rstrip()}\n" if text.strip() else ""
    path.write_text(f"{start}reviewed:\n{added}", encoding="utf-8")
