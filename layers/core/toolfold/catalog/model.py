"""The compiled catalog as the request path sees it: plain data, opened once, nothing built before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    (defaults that are always sent); ``answer`` tells where rows are: ``csv``, ``rows``, ``kind``. ``example`` are
    arguments of a call that works, ``not_for`` is what people may mean → the tool for it, ``hash`` changes whenever the
    entry does.
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
    example: Mapping[str, Any]
    not_for: Mapping[str, str]
    see_also: tuple[str, ...]
    hash: str
    call: Mapping[str, Any]
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Brief:
    """What a listing shows of a tool."""

    name: str
    summary: str
    category: str
    access: str


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

    __slots__ = ("_data", "_names", "_positions", "_tools", "categories", "sha256")

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
        self._names: tuple[str, ...] | None = None
        self._positions: dict[str, int] | None = None

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
        for field in ("tags", "formats", "see_also"):
            entry[field] = tuple(entry[field])
        return Tool(name=spelled, **entry)

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """``(name, summary, category)`` of every tool, in listing order."""
        for name, entry in self._tools.items():
            yield name, entry["summary"], entry["category"]

    def brief(self, position: int) -> Brief:
        """The line of the tool at ``position``, counted from 0 in listing order."""
        if self._names is None:
            self._names = tuple(self._tools)
        name = self._names[position]
        entry = self._tools[name]
        return Brief(name, entry["summary"], entry["category"], entry["access"])

    def position(self, name: str) -> int | None:
        """Where the tool of exactly that name stands in the listing, or None."""
        if self._positions is None:
            self._positions = {known: at for at, known in enumerate(self._tools)}
        return self._positions.get(name)

    def tags(self) -> Mapping[str, Sequence[int]]:
        """Tag → positions of the tools that carry it."""
        return self._positions_by(lambda entry: entry["tags"])

    def positions_of(self, field: str) -> Mapping[str, Sequence[int]]:
        """Value → positions of the tools with it, for ``category`` or ``access``."""
        return self._positions_by(lambda entry: (entry[field],))

    def _positions_by(self, values: Callable[[Mapping[str, Any]], Sequence[str]]) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for position, entry in enumerate(self._tools.values()):
            for value in values(entry):
                found.setdefault(value, []).append(position)
        return found

    @property
    def about(self) -> str:
        """What the catalog holds, in a sentence or two: the descriptions of its sources."""
        return " ".join(source["description"] for source in self._data["sources"].values())

    @property
    def listing(self) -> str:
        """The text of ``TOOL_LIST()``, made when the catalog was compiled."""
        return str(self._data["listing"])

    def postings(self, term: str) -> Sequence[int]:
        """What a search adds up for ``term``: position, weight, position, weight, …; empty for an unknown term."""
        found: Sequence[int] = self._data["index"].get(term, ())
        return found

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        """The words of the catalog with that first letter and length."""
        return str(self._data["spellings"].get(f"{letter}{length}", "")).split()

    def source(self, id_: str) -> Source:
        """The source called ``id_``.

        Raises:
            KeyError: no such source.
        """
        entry = {key: value for key, value in self._data["sources"][id_].items() if key in Source.__slots__}
        entry["faults"], entry["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
        return Source(id=id_, **entry)
