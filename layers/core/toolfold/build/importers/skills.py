"""Skills: folders with a SKILL.md, in the format of https://agentskills.io/specification.

Each becomes a tool whose answer is its text, or one of its files. What its author wrote is kept as it is, because the
skills extension of MCP repeats it verbatim; the front matter is checked for what a program can rely on.

A catalog compiles from its own folder alone, so that it can be reviewed and moved; ``copied_from`` in ``source.yaml``
says where a refresh copies the skills from.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import mimetypes
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from toolfold.build import yaml_loader
from toolfold.build.importers import base
from toolfold.build.importers.skill_files import Limits, find_skills, list_files, read_file, refused
from toolfold.build.yaml_loader import Document, parse_model
from toolfold.catalog.skills import SKILL_FILE, root_uri
from toolfold.errors import SourceError

if TYPE_CHECKING:
    from toolfold.settings import Settings

MAX_FRONT_MATTER_BYTES = 64 << 10
"""Several times the longest front matter that the format allows without unknown keys."""

_FRONT_MATTER = yaml_loader.Limits(depth=20, aliased=0)

_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


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
    text = text.removeprefix("\ufeff")
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
    document = yaml_loader.parse(path, block, first_line=2, limits=_FRONT_MATTER)
    if not isinstance(document.data, dict):
        raise SourceError([f"{path}:2: the front matter must be keys and values, such as name: and description:"])
    try:
        json.dumps(document.data, allow_nan=False)
    except (TypeError, ValueError):
        raise SourceError([f"{path}:2: the front matter has a value that JSON does not have"]) from None
    problems: list[str] = []
    if parse_model(FrontMatter, document, document.data, problems) is None:
        raise SourceError(problems)
    return document


_TYPES = {
    "text/markdown": "md markdown",
    "text/javascript": "js mjs cjs",
    "text/x-typescript": "ts tsx",
    "text/x-shellscript": "sh bash zsh",
    "application/jsonl": "jsonl ndjson",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/xml": "xml xsd xsl xslt",
    "application/sql": "sql",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "image/webp": "webp",
    "font/ttf": "ttf",
    "font/otf": "otf",
    "font/woff2": "woff2",
}
"""Media type → ends of names that the table of Python lacks, or has an older name for."""

_KNOWN = mimetypes.MimeTypes(())  # the table of Python alone: that of the machine would make other catalogs
for _type, _ends in _TYPES.items():
    for _end in _ends.split():
        _KNOWN.add_type(_type, f".{_end}")


def media_type(name: str, *, is_text: bool) -> str:
    """Return the media type of a file called ``name``; plain text or bytes for an unknown one."""
    found = _KNOWN.types_map[True].get(Path(name).suffix.lower())
    return found or ("text/plain" if is_text else "application/octet-stream")


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
    """Whether files that are not text are served, as images and Base64. Otherwise they are left out."""
    copied_from: list[str] = Field(default=[], max_length=100)
    """Where ``toolfold source refresh`` copies the folders from, one for each of ``folders``: an absolute path, or one
    from the folder of the source. Compiling does not read it."""


class SkillsImporter(base.Importer[SkillsSettings]):
    """Read skills, with all their files."""

    settings_model = SkillsSettings
    needed_key = "copied_from"
    is_local = True
    file_name = ""

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return the skills in the folders of the settings."""
        tools: list[base.Tool] = []
        files: dict[str, str | bytes] = {}
        seen: dict[str, str] = {}
        left_out: list[str] = []
        notes: list[str] = []
        for number, name in enumerate(self.settings.folders):
            top, where = self.folder / name, self.where("folders", number)
            if not top.is_dir():
                problems.append(f"{where}: {top} is not a folder")
                continue
            found = 0
            for skill, path in _skills(top, self.folder, problems):
                found += 1
                try:
                    tools.append(self._tool(skill, path, files, notes))
                except SourceError as error:
                    left_out += error.problems
                    continue
                if path in seen:
                    problems.append(f"{tools[-1].where()}: skill {path} is already at {seen[path]}")
                seen[path] = tools[-1].where()
            if not found:
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
        return base.ImportedSource(tools=tools, description=described, files=files, left_out=left_out, notes=notes)

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> base.Fetched:
        """Read the folders that the skills are copied from."""
        folder, settings = self.folder, self.settings
        if len(settings.copied_from) != len(settings.folders):
            raise SourceError(
                [f"{folder / 'source.yaml'}:1: copied_from must have a folder for each of folders, to be copied again"]
            )
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        folders: dict[str, Mapping[Path, bytes]] = {}
        for name, origin in zip(settings.folders, settings.copied_from, strict=True):
            progress(f"Reading {origin} …")
            folders[name] = read_skills(folder / Path(origin).expanduser())
            before |= _digests(read_skills(folder / name) if (folder / name).is_dir() else {})
            after |= _digests(folders[name])
        return base.Fetched(base.RefreshReport.between(before, after), folders=folders)

    def _tool(self, skill: Path, path: str, contents: dict[str, str | bytes], notes: list[str]) -> base.Tool:
        file = skill / SKILL_FILE
        text = _text_of(read_file(file, self.folder, LIMITS.max_file_bytes))
        if text is None:
            raise refused(file, "is not plain text in UTF-8")
        parsed = parse_skill(file, text)
        name = parsed.data["name"]
        if name != (folder_name := path.rpartition("/")[2]):
            problem = f"name: is {name}, and the folder of the skill is called {folder_name}; they must be the same"
            raise SourceError([f"{parsed.where('name')}: {problem}"])
        files = list(self._read_files(skill, contents, notes))
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

    def _read_files(self, skill: Path, contents: dict[str, str | bytes], notes: list[str]) -> Iterator[list[Any]]:
        """Yield ``[path, digest, size, media type, is text]`` of each file of a skill, and add it to ``contents``.

        ``notes`` receives the files that are left out because they are not text.
        """
        size = number = 0
        for file in list_files(skill, self.folder):
            path = file.relative_to(skill).as_posix()
            whole = file.relative_to(self.folder).as_posix()
            if path != SKILL_FILE and any(fnmatch.fnmatchcase(whole, pattern) for pattern in self.settings.exclude):
                continue
            content = read_file(file, self.folder, LIMITS.max_file_bytes)
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


def _skills(top: Path, root: Path, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield each skill in ``top`` and its path there, which for ``top`` itself is its name."""
    try:
        for skill in find_skills(top, root):
            inner = skill.relative_to(top).as_posix()
            yield skill, skill.resolve().name if inner == "." else inner
    except SourceError as error:
        problems += error.problems


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
    for file in (file for skill in find_skills(folder, folder) for file in list_files(skill, folder)):
        path = file.relative_to(folder)
        if path not in found:
            found[path] = read_file(file, folder, LIMITS.max_file_bytes)
            size += len(found[path])
        if size > LIMITS.max_source_bytes:
            raise refused(file, f"is one too many: {LIMITS.max_source_bytes:,} bytes are allowed for a source")
    if not found:
        raise SourceError([f"{folder}:1: has no folder with a {SKILL_FILE}"])
    return found


def write_skills(target: Path, files: Mapping[Path, bytes]) -> None:
    """Replace the folder ``target`` by one with ``files``. What is executable is not executable there."""
    if target.is_symlink():
        raise SourceError([f"{target}:1: is a symbolic link; remove it first"])
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        for path, content in files.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(content)
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise SourceError([f"{target}:1: cannot be written: {error.strerror}"]) from None


def _digests(files: Mapping[Path, bytes]) -> dict[str, str]:
    """Return the path of each skill → a digest of all its files."""
    roots = [path.parent for path in files if path.name == SKILL_FILE]
    found = {}
    for root in roots:
        digest = hashlib.sha256()
        for path, content in files.items():
            if path.is_relative_to(root):
                digest.update(f"{path.as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
        found[root.as_posix()] = digest.hexdigest()
    return found
