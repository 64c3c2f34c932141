"""Read the front matter of a SKILL.md: YAML between two lines of ``---``.

The format is that of https://agentskills.io/specification. What its author wrote is kept as it is, because the skills
extension of MCP repeats it verbatim; it is checked for what a program can rely on.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from toolfold.build import yaml_loader
from toolfold.errors import SourceError

__all__ = ["SkillText", "parse_skill"]

MAX_FRONT_MATTER_BYTES = 64 << 10
"""Several times the longest front matter that the format allows without unknown keys."""

_MAX_DEPTH, _MAX_VALUES = 20, 2000

_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Lower-case letters, digits and single hyphens, which neither begin nor end the name."""

_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


class FrontMatter(BaseModel):
    """The keys of the format that are checked; others are kept without a check."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Annotated[str, StringConstraints(pattern=_NAME, max_length=64)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    license: str | None = None
    compatibility: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    metadata: dict[str, Any] = {}
    allowed_tools: str | list[str] | None = Field(default=None, alias="allowed-tools")


class SkillText(NamedTuple):
    """A SKILL.md: its front matter as JSON values, and where each key is."""

    front_matter: dict[str, Any]
    document: yaml_loader.Document


def parse_skill(path: Path, text: str) -> SkillText:
    """Return the front matter of ``text``, the content of ``path``.

    Raises:
        SourceError: it is missing, or not valid; each problem with its file and line.
    """
    block = _block(path, text.removeprefix("\ufeff"))
    _check_events(path, block)
    document = yaml_loader.parse(path, block, first_line=2)
    if not isinstance(document.data, dict):
        raise SourceError([f"{path}:2: the front matter must be keys and values, such as name: and description:"])
    try:
        json.dumps(document.data, allow_nan=False)
        found = FrontMatter.model_validate(document.data)
    except ValidationError as error:
        raise SourceError(_located(error, document)) from None
    except (TypeError, ValueError):
        raise SourceError([f"{path}:2: the front matter has a value that JSON does not have"]) from None
    if not found.description.strip():
        raise SourceError([f"{document.where(('description',))}: description: is empty"])
    return SkillText(document.data, document)


def _block(path: Path, text: str) -> str:
    """Return the text between the two lines of ``---``."""
    opening = _FENCE.match(text)
    if opening is None:
        raise SourceError(
            [f"{path}:1: does not begin with front matter: a line ---, name: and description:, a line ---"]
        )
    closing = _END.search(text, opening.end())
    if closing is None:
        raise SourceError([f"{path}:1: the front matter is not closed by a line with ---"])
    block = text[opening.end() : closing.start()]
    if len(block.encode()) > MAX_FRONT_MATTER_BYTES:
        raise SourceError([f"{path}:1: the front matter is longer than {MAX_FRONT_MATTER_BYTES:,} bytes"])
    return block


def _check_events(path: Path, block: str) -> None:
    """Refuse aliases and deep nesting before anything is built: a few lines of them could take all memory."""
    depth = count = 0
    try:
        for event in yaml.parse(block, Loader=yaml.SafeLoader):
            count += 1
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            line = 2 if event.start_mark is None else event.start_mark.line + 2
            if isinstance(event, yaml.AliasEvent):
                raise SourceError(
                    [f"{path}:{line}: the front matter has an alias (*{event.anchor}); write the value again"]
                )
            if depth > _MAX_DEPTH or count > _MAX_VALUES:
                raise SourceError([f"{path}:{line}: the front matter is nested too deeply, or too long"])
    except yaml.MarkedYAMLError as error:
        line = 2 if error.problem_mark is None else error.problem_mark.line + 2
        hint = "; put the text in quotes" if "mapping values" in str(error.problem) else ""
        raise SourceError([f"{path}:{line}: is not valid YAML: {error.problem or error.context}{hint}"]) from None
    except yaml.YAMLError:
        raise SourceError([f"{path}:2: the front matter has a character that YAML does not allow"]) from None


_MESSAGES = {
    "name": "must be 1 to 64 lower-case letters, digits and single hyphens, as in pdf-processing",
    "description": "must be a text of 1 to 1024 characters",
    "compatibility": "must be a text of 1 to 500 characters",
    "metadata": "must be keys and values",
    "allowed-tools": "must be a text, or a list of texts",
    "license": "must be a text",
}


def _located(error: ValidationError, document: yaml_loader.Document) -> list[str]:
    """Return each problem once, as ``file:line: key: problem``."""
    found: dict[str, None] = {}
    for item in error.errors():
        key = str(item["loc"][0]) if item["loc"] else "front matter"
        problem = "is missing" if item["type"] == "missing" else _MESSAGES.get(key, item["msg"])
        found[f"{document.where((key,))}: {key}: {problem}"] = None
    return list(found)
