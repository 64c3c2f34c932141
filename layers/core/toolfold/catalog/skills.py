"""The skills of a catalog: their front matter, and the list of their files with digests.

A skill is a tool of a source of kind ``skills``. Its ``call`` has all but the content of the files, which is in the
section ``files`` of the catalog, by its digest. Imported by the first request that is about skills.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import quote

from toolfold.catalog.contract import is_part
from toolfold.catalog.entries import Rule
from toolfold.catalog.reader import damaged

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

SKILL_FILE = "SKILL.md"

_SCHEME = "skill://"
_MAX_URI, _MAX_SEGMENTS = 2000, 64
_PATH_CHARACTERS = "!$&'()*+,;=:@-._~"
"""Characters of a segment of a path that are not encoded (RFC 3986, section 3.3)."""


class SkillFile(NamedTuple):
    """One file of a skill.

    Attributes:
        path: from the folder of the skill, with ``/``.
        sha256: of its bytes, in hexadecimal digits.
        size: in bytes.
        media_type: such as ``text/markdown``.
        is_text: whether its content is text in UTF-8.
    """

    path: Annotated[str, Rule(minLength=1, maxLength=2000)]
    sha256: Annotated[str, Rule(pattern="^[0-9A-Za-z]{64}$")]
    size: Annotated[int, Rule(minimum=0)]
    media_type: Annotated[str, Rule(minLength=1, maxLength=2000)]
    is_text: bool


class Skill(NamedTuple):
    """A skill.

    Attributes:
        tool: the name of its tool.
        root: the URI of its folder, without a slash at its end.
        front_matter: what its SKILL.md begins with.
        files: all files, by path, SKILL.md among them.
    """

    tool: str
    root: str
    front_matter: Mapping[str, Any]
    files: Mapping[str, SkillFile]

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md."""
        return f"{self.root}/{SKILL_FILE}"

    def uri_of(self, path: str) -> str:
        """Return the URI of a file of the skill."""
        return f"{self.root}/{_encode(path)}"


def root_uri(source_id: str, path: str) -> str:
    """Return the URI of the folder of a skill. It begins with the id of the source: no two skills have the same."""
    return f"{_SCHEME}{source_id}/{_encode(path)}"


def _encode(path: str) -> str:
    return quote(path, safe=_PATH_CHARACTERS + "/")


def skill_of(tool: Tool) -> Skill:
    """Return the skill that ``tool`` is. A catalog may be forged: everything is checked.

    Raises:
        CatalogUnavailable: its entry is not that of a skill.
    """
    call = tool.call
    if not is_part("SkillCall", call):
        raise damaged(f"skill {tool.name[:64]!a}")
    files = {entry[0]: SkillFile(*entry) for entry in call["files"]}
    if SKILL_FILE not in files:
        raise damaged(f"skill {tool.name[:64]!a}")
    return Skill(tool.name, call["root"], call["front_matter"], files)


def skill_at(catalog: Catalog, uri: str) -> Skill | None:
    """Return the skill whose SKILL.md has ``uri``, or None."""
    name = catalog.skill_tool(uri)
    tool = None if name is None else catalog.get(name)
    return None if tool is None else skill_of(tool)


def find_file(catalog: Catalog, uri: str) -> tuple[Skill, str] | None:
    """Return the skill that ``uri`` is in and the path in it, which may not exist; None: it is in no skill.

    Of nested skills the innermost is returned.
    """
    from urllib.parse import unquote

    if not uri.startswith(_SCHEME) or len(uri) > _MAX_URI:
        return None
    segments = uri.removeprefix(_SCHEME).split("/")
    if len(segments) > _MAX_SEGMENTS:
        return None
    for end in range(len(segments), 0, -1):
        root = _SCHEME + "/".join(segments[:end])
        skill = skill_at(catalog, f"{root}/{SKILL_FILE}")
        if skill is not None:
            path = unquote("/".join(segments[end:]))
            # One spelling for each file: another encoding of its name is another URI.
            return (skill, path) if skill.uri_of(path) == uri else None
    return None


def all_skills(catalog: Catalog, after: str = "") -> Iterator[Skill]:
    """Yield the skills whose URI comes after ``after``, in the order of their URIs."""
    for uri, name in catalog.skill_tools():
        if uri > after and (tool := catalog.get(name)) is not None:
            yield skill_of(tool)
