"""The compiled catalog as the request path sees it: plain data, opened once, nothing built before it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 1
"""Version of the compiled layout. A reader refuses any other."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place that tools live at. Fields as in ``catalog.sources.Source``."""

    id: str
    title: str
    backend: str
    base_url: str
    function_key: str
    auth: Mapping[str, str]
    no_data: str
    faults: tuple[Mapping[str, Any], ...]
    unknown_notice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """One callable entry.

    ``parameters`` is a JSON Schema; ``call`` is what the backend needs: ``function``, ``query`` (parameter → query key
    where it differs), ``lists`` (parameter → separator), ``repeats`` (parameter → most repetitions), ``sends``
    (defaults that are always sent); ``answer`` tells where rows are: ``csv``, ``rows``, ``kind``.
    """

    name: str
    source: str
    category: str
    title: str
    summary: str
    description: str
    tags: tuple[str, ...]
    access: str
    freshness: str
    formats: tuple[str, ...]
    parameters: Mapping[str, Any]
    returns: str
    call: Mapping[str, Any]
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Category:
    """A group of tools, as listed."""

    name: str
    title: str
    description: str
    tools: int


class Catalog:
    """All tools of all sources. Immutable; names are matched without regard to case.

    Raises:
        ValueError: the data is not a compiled catalog of this format.
    """

    __slots__ = ("_data", "_tools", "categories", "sha256")

    def __init__(self, data: Mapping[str, Any], sha256: str) -> None:
        found = data.get("format") if isinstance(data, dict) else None
        if found != FORMAT:
            raise ValueError(f"catalog format {found!r} is not {FORMAT}")
        if missing := {"sources", "categories", "listing", "tools", "index", "spellings"} - data.keys():
            raise ValueError(f"catalog lacks {', '.join(sorted(missing))}")
        self._data = data
        self._tools: Mapping[str, Any] = data["tools"]
        self.categories = tuple(Category(**category) for category in data["categories"])
        self.sha256 = sha256

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[str]:
        """Names, in listing order."""
        return iter(self._tools)

    def name_of(self, name: str) -> str | None:
        """The catalog's spelling of ``name``, or None."""
        spelled = name.strip().upper()
        return spelled if spelled in self._tools else None

    def get(self, name: str) -> Tool | None:
        """The tool called ``name``, or None."""
        spelled = self.name_of(name)
        if spelled is None:
            return None
        entry = dict(self._tools[spelled])
        entry["tags"], entry["formats"] = tuple(entry["tags"]), tuple(entry["formats"])
        return Tool(name=spelled, **entry)

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """``(name, summary, category)`` of every tool, in listing order."""
        for name, entry in self._tools.items():
            yield name, entry["summary"], entry["category"]

    @property
    def about(self) -> str:
        """What the catalog holds, in a sentence or two: the descriptions of its sources."""
        return " ".join(source["description"] for source in self._data["sources"].values())

    @property
    def listing(self) -> str:
        """The text of ``TOOL_LIST()``, made when the catalog was compiled."""
        return str(self._data["listing"])

    @property
    def index(self) -> Mapping[str, list[int]]:
        """What a search adds up: term → positions of tools and weights. See ``catalog.index``."""
        index: Mapping[str, list[int]] = self._data["index"]
        return index

    @property
    def spellings(self) -> Mapping[str, list[str]]:
        """The words of the catalog by their first letter."""
        spellings: Mapping[str, list[str]] = self._data["spellings"]
        return spellings

    def source(self, id_: str) -> Source:
        """The source called ``id_``.

        Raises:
            KeyError: no such source.
        """
        entry = {key: value for key, value in self._data["sources"][id_].items() if key in Source.__slots__}
        entry["faults"], entry["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
        return Source(id=id_, **entry)
