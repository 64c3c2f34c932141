"""Skills: folders with a SKILL.md, in the format of https://agentskills.io/specification.

Each becomes a tool whose answer is its text, or one of its files. What its author wrote is kept as it is, because the
skills extension of MCP repeats it verbatim; the front matter is checked for what a program can rely on.

Nothing is executed, and no file outside of the folder is read: there are no symbolic links in it. Every file is opened
once, checked to be a regular file after that, and read up to its limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from toolfold.build import yaml_loader
from toolfold.build.importers import base
from toolfold.build.yaml_loader import Document, parse_model
from toolfold.catalog.skills import SKILL_FILE, root_uri
from toolfold.catalog.store import open_regular_file
from toolfold.errors import SourceError
from toolfold.fuzzy import match_any

MAX_FRONT_MATTER_BYTES = 64 << 10
"""Several times the longest front matter that the format allows without unknown keys."""

_FRONT_MATTER = yaml_loader.Limits(depth=20, aliased=0)

_BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.MULTILINE | re.DOTALL)


class FrontMatter(BaseModel):
    """The keys of the format that are checked; others are kept without a check."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=1024, strip_whitespace=True)]
    license: str | None = None
    compatibility: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    metadata: dict[str, Any] = {}
    allowed_tools: str | list[str] | None = Field(default=None, alias="allowed-tools")


def parse_skill(path: Path, text: str) -> Document:
    """Return the front matter of ``text``, the content of ``path``, as keys and values.

    Raises:
        SourceError: it is missing, or not valid; each problem with its file and line.
    """
    if (block := _BLOCK.match(text)) is None:
        raise refused(path, "does not begin with front matter: a line ---, name: and description:, a line ---")
    if len(block[1].encode()) > MAX_FRONT_MATTER_BYTES:
        raise refused(path, f"the front matter is longer than {MAX_FRONT_MATTER_BYTES:,} bytes")
    document = yaml_loader.parse(path, block[1], first_line=2, limits=_FRONT_MATTER)
    problems: list[str] = []
    if parse_model(FrontMatter, document, document.data, problems) is None:
        raise SourceError(problems)
    return document


_TYPES = {
    "text/markdown": "md markdown",
    "text/html": "html htm",
    "text/css": "css",
    "text/csv": "csv",
    "text/javascript": "js mjs",
    "text/x-python": "py",
    "application/json": "json",
    "application/pdf": "pdf",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/webp": "webp",
}
"""Media type → ends of names. The tables of Python and of the machine would make other catalogs elsewhere."""


def media_type(name: str, *, is_text: bool) -> str:
    """Return the media type of a file called ``name``; plain text or bytes for an unknown one."""
    end, other = Path(name).suffix[1:].lower(), "text/plain" if is_text else "application/octet-stream"
    return next((type_ for type_, ends in _TYPES.items() if end in ends.split()), other)


_MAX_DEPTH = 12
"""Folders inside each other, from the folder of skills to a file."""

_MAX_ENTRIES = 20_000
"""Names that are looked at: a folder with more is not a folder of skills."""

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "Thumbs.db"})
"""What programs leave behind. Hidden names (``.git``, ``.env``, ``.DS_Store``) are left out, too."""


@dataclass(frozen=True)
class Limits:
    """What a skill may have. The defaults are those that every host of the skills extension accepts (SEP-2640)."""

    max_file_bytes: int = 1 << 20
    max_files: int = 512
    max_skill_bytes: int = 16 << 20
    max_source_bytes: int = 64 << 20


LIMITS = Limits()

_MAX_LINE_BYTES = 3 << 20
"""Bytes of a file as a line of the catalog, of which a reader accepts blocks of 4 MiB."""

_MAX_NAMED_FILES = 40
"""Files that the schema of a skill names. Of a skill with more, SKILL.md has to name them."""


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not path.strip() or path.startswith(("/", "~")) or "\\" in path or ":" in path or ".." in parts:
        raise ValueError(
            "must be a folder in the folder of the source, without .. (toolfold source add skills copies others)"
        )
    return path


class SkillsSettings(base.ImporterSettings):
    """A source of skills: folders with a SKILL.md."""

    kind: Literal["skills"] = "skills"
    folders: list[Annotated[str, AfterValidator(_inside)]] = Field(default=["."], min_length=1, max_length=100)
    """Folders in the folder of the source. Each is a skill, or has skills in it at any depth."""
    exclude: list[str] = Field(default=[], max_length=100)
    """Patterns of files that are left out, by their path in the folder: ``*/tests/*``, ``*.png``."""
    binary_files: bool = False
    """Whether files that are not text are served, as images and Base64, and not left out."""


class SkillsImporter(base.Importer[SkillsSettings]):
    """Read skills, with all their files."""

    settings_model = SkillsSettings

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return the skills in the folders of the settings."""
        tools: list[base.Tool] = []
        files: dict[str, str | bytes] = {}
        seen: dict[str, str] = {}
        left_out: list[str] = []
        notes: list[str] = []
        for number, name in enumerate(self.settings.folders):
            top, where = self.folder / name, self.where("folders", number)
            if not top.is_dir() or top.resolve() != self.folder.resolve() / name:
                problems.append(f"{where}: {top} is not a folder, or a symbolic link is in its path")
                continue
            try:
                skills = find_skills(top)
            except SourceError as error:
                problems += error.problems
                continue
            for skill, listed in skills.items():
                inner = skill.relative_to(top).as_posix()
                path = skill.resolve().name if inner == "." else inner
                try:
                    tools.append(self._tool(skill, path, listed, files, notes))
                except SourceError as error:
                    left_out += error.problems
                    continue
                if path in seen:
                    problems.append(f"{tools[-1].where()}: skill {path} is already at {seen[path]}")
                seen[path] = tools[-1].where()
            if not skills:
                problems.append(f"{where}: {top} has no folder with a {SKILL_FILE}")
        size = sum(length for tool in tools for _, _, length, *_ in tool.call["files"])
        if size > LIMITS.max_source_bytes:
            problems.append(
                f"{self.where('folders')}: the skills have {size:,} bytes together; "
                f"{LIMITS.max_source_bytes:,} are allowed for a source"
            )
        if not tools:
            problems += left_out
            return None
        described = f"Skills, instructions and files for work of a kind: {', '.join(sorted(seen))[:300]}"
        source = self.settings.as_source("", {}, described)
        return base.ImportedSource(tools, source, files=files, left_out=left_out, notes=notes)

    def _tool(
        self, skill: Path, path: str, listed: list[Path], contents: dict[str, str | bytes], notes: list[str]
    ) -> base.Tool:
        file = skill / SKILL_FILE
        text = _text_of(read_file(file))
        if text is None:
            raise refused(file, "is not plain text in UTF-8")
        parsed = parse_skill(file, text)
        name = parsed.data["name"]
        if name != (folder_name := path.rpartition("/")[2]):
            problem = f"name: is {name}, and the folder of the skill is called {folder_name}; they must be the same"
            raise SourceError([f"{parsed.where('name')}: {problem}"])
        files = list(self._read_files(skill, listed, contents, notes))
        named = [path for path, *_ in files]
        rule: dict[str, Any] = {"type": "string", "description": f"A file of the skill; without it {SKILL_FILE}"}
        rule |= {"enum": named} if len(named) <= _MAX_NAMED_FILES else {"examples": named[:3]}
        return base.Tool(
            name=path,
            where=lambda *_: f"{file}:1",
            title=name,
            description=" ".join(parsed.data["description"].split()),
            parameters={"type": "object", "properties": {"file": rule}, "additionalProperties": False},
            effect="read",
            call={"root": root_uri(self.settings.id, path), "front_matter": parsed.data, "files": files},
            returns="text",
            tags=["skill"],
            example={},
        )

    def _read_files(
        self, skill: Path, listed: list[Path], contents: dict[str, str | bytes], notes: list[str]
    ) -> Iterator[list[Any]]:
        """Yield ``[path, digest, size, media type, is text]`` of each file of a skill, and add it to ``contents``.

        ``notes`` receives the files that are left out because they are not text.
        """
        size = number = 0
        for file in listed:
            path = file.relative_to(skill).as_posix()
            whole = file.relative_to(self.folder).as_posix()
            if path != SKILL_FILE and match_any([whole], self.settings.exclude):
                continue
            content = read_file(file)
            number, size = number + 1, size + len(content)
            if number > LIMITS.max_files or size > LIMITS.max_skill_bytes:
                most = f"{LIMITS.max_files} files and {LIMITS.max_skill_bytes:,} bytes are allowed for a skill"
                raise refused(skill / SKILL_FILE, f"is of a skill with too many files; {most}")
            text = _text_of(content)
            if text is None and not self.settings.binary_files:
                notes.append(f"{file}:1: is not plain text in UTF-8, and left out; binary_files: true includes it")
                continue
            digest = hashlib.sha256(content).hexdigest()
            contents[digest] = content if text is None else text
            yield [path, digest, len(content), media_type(file.name, is_text=text is not None), text is not None]


def refused(path: Path, problem: str) -> SourceError:
    """Return the error of a file that is not read."""
    return SourceError([f"{path}:1: {problem}"])


def find_skills(folder: Path) -> dict[Path, list[Path]]:
    """Return every folder in ``folder``, itself included, that has a SKILL.md, with its files and those below.

    They are in order, nested ones after theirs.

    Raises:
        SourceError: There is a symbolic link, too much, or a name that is not plain text.
    """
    entries, files = 0, list[Path]()
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        directory = Path(place)
        entries += len(folders) + len(names)
        if entries > _MAX_ENTRIES or len(directory.relative_to(folder).parts) > _MAX_DEPTH:
            raise refused(directory, "has too many files, or folders inside each other, for a folder of skills")
        for listed in (folders, names):
            kept = (name for name in listed if name[0] != "." and name not in _LEFT_OUT)
            listed[:] = sorted(name for name in kept if not name.endswith(".pyc"))
        for name in (*folders, *names):
            # Not UTF-8: Python has surrogates for such bytes, which are not printable either.
            if not name.isprintable() or "\\" in name:
                raise refused(directory, f"has a file whose name is not plain text, {name!a}; rename it")
            if (directory / name).is_symlink():
                raise refused(directory / name, "is a symbolic link; copy what it leads to")
        files += (directory / name for name in names)
    skills = [file.parent for file in files if file.name == SKILL_FILE]
    return {skill: [file for file in files if file.is_relative_to(skill)] for skill in skills}


def _unreadable(error: OSError) -> None:
    raise refused(Path(error.filename), f"cannot be read: {error.strerror}")


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        SourceError: it is not a regular file of at most the allowed size, or cannot be read.
    """
    most = LIMITS.max_file_bytes
    try:
        with open(open_regular_file(path, getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise refused(path, f"cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise refused(path, f"has more than {most:,} bytes, which are allowed for a file")
    return content


def _text_of(content: bytes) -> str | None:
    """Return ``content`` as text, or None where it is not UTF-8, or has what text does not have."""
    if b"\0" in content:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if len(json.dumps(text, ensure_ascii=False).encode()) <= _MAX_LINE_BYTES else None


def read_skills(folder: Path) -> dict[Path, bytes]:
    """Return the files of all skills in ``folder``: path in it → content.

    Raises:
        SourceError: there are no skills, or a file cannot be read.
    """
    if not folder.is_dir():
        raise SourceError([f"{folder}:1: is not a folder"])
    found: dict[Path, bytes] = {}
    size = 0
    for file in dict.fromkeys(file for files in find_skills(folder).values() for file in files):
        found[file.relative_to(folder)] = content = read_file(file)
        size += len(content)
        if size > LIMITS.max_source_bytes:
            raise refused(file, f"is one too many: {LIMITS.max_source_bytes:,} bytes are allowed for a source")
    if not found:
        raise SourceError([f"{folder}:1: has no folder with a {SKILL_FILE}"])
    return found
