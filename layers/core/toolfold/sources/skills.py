"""The adapter of skills: return a file of a skill from the catalog. No request leaves the process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.skills import SKILL_FILE, Skill, SkillFile, skill_of
from toolfold.errors import CatalogUnavailable, InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean
from toolfold.messages import LIST_FILES
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.sources.base import CachePolicy, SourceAdapter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.sources.base import AdapterContext

_NOT_CACHED = CachePolicy(0, varies_by_key=False)


class SkillsAdapter(SourceAdapter):
    """Return the text of a skill, or one of its files. See :class:`toolfold.sources.base.SourceAdapter`."""

    smaller_response_hint = "Ask for one file of the skill at a time, with the argument file."

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source, self._read_file = source, context.read_file

    @property
    def endpoint(self) -> str:
        """Where calls would be sent."""
        return f"skill://{self.source.id}"

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for a file that the skill does not have."""
        _file_of(tool, arguments)

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Return the content of the file: its text, or its bytes in Base64.

        Raises:
            CatalogUnavailable: the catalog was replaced by one without this version of the skill.
        """
        _, file = _file_of(tool, arguments)
        content = self._read_file(file.sha256)
        if content is None:
            raise CatalogUnavailable(f"{tool.name} was changed a moment ago, and its file is gone.", LIST_FILES)
        return UpstreamResponse(200, content.get("text", content.get("blob", "")))

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the text as it is; an image, or other bytes, as a content block after a line about it."""
        skill, file = _file_of(tool, arguments)
        if file.is_text:
            return ParsedResponse("text", response.body)
        line = f"{file.path}: {file.media_type}, {file.size:,} bytes"
        if file.media_type.startswith("image/"):
            block: dict[str, Any] = {"type": "image", "data": response.body, "mimeType": file.media_type}
        else:
            inner = {"uri": skill.uri_of(file.path), "mimeType": file.media_type, "blob": response.body}
            block = {"type": "resource", "resource": inner}
        return ParsedResponse("text", line, blocks=json.dumps([block]))

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Cache nothing: the file is in memory, or in the cache of the catalog's blocks."""
        return _NOT_CACHED


def _file_of(tool: Tool, arguments: Mapping[str, Any]) -> tuple[Skill, SkillFile]:
    skill = skill_of(tool)
    path = str(arguments.get("file") or SKILL_FILE)
    file = skill.files.get(path)
    if file is not None:
        return skill, file

    closest = closest_matches(path, skill.files, most=3)
    raise InvalidArguments(
        f"{tool.name}: the skill has no file {path[:100]!r}.",
        did_you_mean(path, closest, most=3).strip() or LIST_FILES,
        closest=closest,
    )
