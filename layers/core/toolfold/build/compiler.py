"""Compile all sources to one JSON document.

``build.source_folders`` reads each source alone. The compiler names the tools, checks references between them with
``build.checks``, and computes everything that does not depend on a request. The result is deterministic: the same files
give the same bytes and the same hash.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import checks, emitter, search_index, writer
from toolfold.build.emitter import assign_names, compile_relations, safe_name
from toolfold.build.importers.base import Tool
from toolfold.build.inferred_relations import infer_relations
from toolfold.build.profiles import compile_profiles
from toolfold.build.schema import Vocabulary
from toolfold.build.source_folders import LoadedSource, load_sources
from toolfold.catalog import json_schema
from toolfold.catalog.entries import RESERVED_NAMES, name_key
from toolfold.catalog.query import PREFERRED
from toolfold.catalog.skills import SKILL_FILE
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError
from toolfold.results import tokens
from toolfold.sources.base import BUILT_IN
from toolfold.text_safety import counted

Names = Mapping[str, Mapping[str, str]]
"""Id of a source → the name that it has for a tool → its name in the catalog, where that is another."""


class ToolDefinition(NamedTuple):
    """A tool under its name in the catalog, with its source, and the name of its category in the catalog."""

    source: LoadedSource
    label: str
    tool: Tool


def renamed_vocabulary(vocabulary: Vocabulary, names: Mapping[str, str]) -> Vocabulary:
    """Return a vocabulary that names tools as the catalog does."""
    kinds = {
        kind: found.model_copy(
            update={key: [names.get(tool, tool) for tool in getattr(found, key)] for key in ("tools", "preferred")}
        )
        for kind, found in vocabulary.names.items()
    }
    return vocabulary.model_copy(update={"names": kinds})


def searchable_texts(
    definitions: Sequence[ToolDefinition], tools: Mapping[str, Any], vocabularies: Mapping[str, Vocabulary]
) -> list[dict[str, list[str]]]:
    """Return the indexed texts of each tool. A phrase in ``use_instead`` is a text of the tool that it refers to."""
    redirected: dict[str, list[str]] = {}
    for entry in definitions:
        for phrase, other in tools[entry.tool.name]["use_instead"].items():
            redirected.setdefault(other, []).append(phrase)
    return [
        _texts(entry, vocabularies[entry.source.settings.id], redirected.get(entry.tool.name, []))
        for entry in definitions
    ]


def _texts(entry: ToolDefinition, vocabulary: Vocabulary, redirected: list[str]) -> dict[str, list[str]]:
    tool, names = entry.tool, vocabulary.names.items()
    category = entry.source.categories[tool.category]
    matching = [
        (kind, known)
        for kind, known in names
        if tool.category in known.categories or tool.name in (*known.tools, *known.preferred)
    ]
    # Written requests say better what a tool is for than its parameters, which similar tools share.
    rules = {} if tool.example_queries else json_schema.properties(tool.parameters)
    parameters = {name: str(rule.get("description", "")) for name, rule in rules.items()}
    source = entry.source.source
    called = search_index.source_names(source.title, source.id, source.base_url)
    return {
        "name": [in_words(tool.name)],
        "source": [in_words(name) for name in called],
        "title": [tool.title],
        "summary": [tool.summary],
        "description": [tool.description],
        "parameter_names": [in_words(name) for name in parameters],
        "parameter_descriptions": list(parameters.values()),
        "tags": list(tool.tags),
        "category": [category.title, category.description],
        "example_queries": list(tool.example_queries),
        "aliases": list(tool.aliases),
        "redirected_queries": redirected,
        "kinds": [known.term(kind) for kind, known in matching if not known.outside],
        "actions": [] if tool.example_queries else search_index.action_of(tool.name, tool.summary),
        "outside": [known.term(kind) for kind, known in matching if known.outside],
        "preferred": [f"{PREFERRED}{kind}" for kind, known in names if tool.name in known.preferred],
    }


class CompiledFolder(NamedTuple):
    """A compiled catalog, and what there is to say about its tools, which are in the order of the listing.

    ``left_out`` and ``notes`` are as in :class:`ImportedSource`.
    """

    content: bytes
    left_out: list[str]
    notes: list[str]
    tools: list[ToolDefinition]


def compile_folder(folder: Path, adapters: Collection[str] | None = None) -> str:
    """Return the catalog of every source below ``folder`` as JSON text; see :func:`compile_sources`."""
    return compile_sources(folder, adapters).content.decode()


def compile_sources(
    folder: Path, adapters: Collection[str] | None = None, progress: Callable[[str], None] = lambda _: None
) -> CompiledFolder:
    """Compile every source below ``folder``.

    Args:
        folder: The folder that contains ``<source>/source.yaml``.
        adapters: Names that ``kind`` may have. None: those of ``sources.base``.
        progress: Called with a sentence before each step that may take long.

    Raises:
        SourceError: The files have errors. The exception lists all of them, each as ``file:line: problem``.
    """
    problems: list[str] = []
    left_out: list[str] = []
    kinds = sorted(BUILT_IN if adapters is None else adapters)
    loaded = load_sources(folder, kinds, problems, left_out, progress)
    names = _names(loaded)
    left_out += (problem for source in loaded for problem in source.left_out)
    progress("Checking the tools …")
    definitions = list(_definitions(loaded, names, problems))
    tools, locations = _tool_entries(definitions, names, problems, left_out)
    definitions = [entry for entry in definitions if entry.tool.name in tools]
    used = {entry.source.settings.id for entry in definitions}
    described = [source.settings.id for source in loaded if source.left_out or source.tools]
    empty = [id_ for id_ in described if id_ not in used]
    left_out += (f"{folder}: the source {id_} is left out: none of its tools can be used" for id_ in empty)
    loaded = [source for source in loaded if source.settings.id not in empty]
    if not loaded:
        raise SourceError([*problems, *left_out])
    vocabularies = {
        source.settings.id: renamed_vocabulary(source.vocabulary, names[source.settings.id]) for source in loaded
    }
    problems += checks.check_references(tools, locations)
    problems += checks.check_vocabulary(vocabularies.values(), tools)
    related = [(tool, names[source.settings.id]) for source, _, tool in definitions if tool.relations]
    for name, relations in compile_relations(related, list(tools), problems).items():
        tools[name]["relations"] = relations
    inferring = {source.settings.id for source in loaded if source.settings.infer_relations}
    written = sum("relations" in tool for tool in tools.values())
    inferred = infer_relations({name: tool for name, tool in tools.items() if tool["source"] in inferring})
    for name, relations in inferred.items():
        tools[name].setdefault("relations", relations)
    if problems:
        raise SourceError(problems)
    emitter.finish(tools)
    categories = _categories(definitions)
    sources = {source.settings.id: emitter.source_entry(source.source) for source in loaded}
    parts = {"sources": sources, "categories": categories, "tools": tools}
    profiles = compile_profiles(folder, parts, [entry.tool for entry in definitions], problems)
    if problems:
        raise SourceError(problems)
    progress(f"Building the search index of {counted(len(tools), 'tool')} …")
    searchable = searchable_texts(definitions, tools, vocabularies)
    for id_, entry in sources.items():
        own = [texts for texts, of in zip(searchable, definitions, strict=True) if of.source.settings.id == id_]
        if fit := search_index.thresholds(own, vocabularies[id_]):
            sources[id_] = {**entry, "fit": fit}
    # Example queries have the words of users. Words near in meaning beside them rank worse than they do alone
    # (docs/explanation/decisions/search-index.md).
    without_queries = {at: texts for at, texts in enumerate(searchable) if not texts["example_queries"]}
    near, share = search_index.nearest_words(without_queries)
    skills = {name: tool["call"]["root"] for name, tool in tools.items() if "front_matter" in tool["call"]}
    files = {digest: file for source in loaded for digest, file in source.files.items()}
    compiled = {
        "sources": sources,
        "categories": categories,
        "definition_tokens": _definition_tokens(tools),
        "common": _common(definitions, list(tools)),
        "tools": tools,
        "index": search_index.build(searchable),
        "spellings": search_index.spellings(searchable, vocabularies.values()),
        "synonyms": search_index.synonyms(vocabularies.values()),
        "near": near,
        "semantic_share": share,
        "related": written,
        "skills": {f"{root}/{SKILL_FILE}": name for name, root in skills.items()},
        "files": {
            digest: {"text": file} if isinstance(file, str) else {"blob": base64.b64encode(file).decode()}
            for digest, file in files.items()
        },
        **profiles,
    }
    notes = [note for source in loaded for note in source.notes]
    return CompiledFolder(writer.dumps(compiled), left_out, notes, definitions)


def _definitions(loaded: Sequence[LoadedSource], names: Names, problems: list[str]) -> Iterator[ToolDefinition]:
    counts = Counter(name for source in loaded for name in source.categories)
    for source in loaded:
        own = names[source.settings.id]
        for tool in source.tools:
            label = f"{source.settings.id}/{tool.category}" if counts[tool.category] > 1 else tool.category
            name, description = own.get(tool.function, tool.name), tool.description
            # A name with a hash does not say which of two tools it is.
            if own and not name.endswith(safe_name(tool.function)):
                description = f"{description.rstrip('. ')}. Its source calls it {emitter.clean_text(tool.function)}."
            if name_key(name) in RESERVED_NAMES:
                problems.append(f"{tool.where('name')}: tool {name} has the name of a meta-tool")
            yield ToolDefinition(source, label, replace(tool, name=name, description=description))


def _names(loaded: Sequence[LoadedSource]) -> Names:
    prefixed = [
        (source.settings.id, tool.function) for source in loaded if source.settings.prefix for tool in source.tools
    ]
    kept = [tool.name for source in loaded if not source.settings.prefix for tool in source.tools]
    names: dict[str, dict[str, str]] = {source.settings.id: {} for source in loaded}
    for (id_, own), name in assign_names(prefixed, kept, RESERVED_NAMES).items():
        names[id_][own] = name
    return names


def _tool_entries(
    definitions: Sequence[ToolDefinition],
    names: Names,
    problems: list[str],
    left_out: list[str],
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return name → entry of each tool, and name → ``file:line``, without imported tools that are not valid."""
    entries: dict[str, dict[str, Any]] = {}
    locations: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for source, label, tool in definitions:
        if (known := spellings.setdefault(name_key(tool.name), tool.name)) in locations:
            other = "" if known == tool.name else f" as {known}: names that differ by case, - and . alone are the same"
            problems.append(f"{tool.where('name')}: tool {tool.name} is already defined at {locations[known]}{other}")
        id_ = source.settings.id
        entry = emitter.tool_entry(id_, label, tool, source.settings.identifiers)
        for _, holder, key in checks.references(entry):
            holder[key] = names[id_].get(holder[key], holder[key])
        found = list(checks.check_tool(source.source.freshness, tool, entry))
        if not found and (wrong := list(checks.check_example(entry, tool.where))):
            if tool.is_example_generated:  # for example of a pattern; no example is better than one that fails
                entry["example"] = {}
            else:
                found = wrong
        if found and source.is_imported:
            left_out += (f"{problem}; the tool {tool.function} is left out" for problem in found)
            continue
        problems += found
        locations[tool.name] = tool.where("name")
        entries[tool.name] = entry
    return entries, locations


def _categories(definitions: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    sizes = Counter(entry.label for entry in definitions)
    first = {label: (source, source.categories[tool.category]) for source, label, tool in reversed(definitions)}
    return [
        {
            "name": label,
            "source": source.settings.id,
            "title": shown.title,
            "description": shown.description,
            "tools": sizes[label],
        }
        for label in sizes
        for source, shown in [first[label]]
    ]


def _definition_tokens(tools: Mapping[str, Mapping[str, Any]]) -> int:
    pieces = 0
    for name, entry in tools.items():
        description = f"{entry['summary']}. {entry['description']}"
        definition = {"name": name, "description": description, "inputSchema": entry["parameters"]}
        pieces += tokens.pieces(json.dumps(definition, ensure_ascii=False, separators=(",", ":")) + ",")
    return tokens.with_margin(pieces)


def _common(definitions: Sequence[ToolDefinition], names: Sequence[str]) -> list[tuple[int, str]]:
    """Return the positions and signatures of the tools that the instructions name."""
    found = []
    for tool in (entry.tool for entry in definitions if entry.tool.common and entry.tool.name in names):
        parameters = tool.parameters.get("required") or list(tool.example or ())[:1]
        found.append((names.index(tool.name), f"{tool.name}({', '.join(parameters)})"))
    return found
