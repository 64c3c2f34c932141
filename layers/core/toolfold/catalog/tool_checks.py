"""Check the entry of a tool when it is read. Imported for the first tool that is described or called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from toolfold.catalog.head_checks import ACCESS, MAX_SUMMARY, MAX_TEXT, check_argument_forms, is_tool_name, text_problem
from toolfold.catalog.schema_checks import check_schema, check_value

_MAX_HASH, _MAX_ITEMS = 64, 1000
_KINDS = ("object", "list", "map", "names", "typed", None)
_FORMATS = frozenset({"csv", "json"})
_MAX_LIST_ITEMS = 100_000
_MAX_RELATIONS = 50
_RELATION_KINDS = ("needs_output_of", "alternative", "then")


def check_tool(entry: Mapping[str, Any], freshness: Collection[str] | None) -> None:
    """Check an entry whose fields have the right JSON types.

    Args:
        entry: The entry.
        freshness: The freshness classes of its source; None: the catalog lacks the source.

    Raises:
        ValueError: A value is not one that the compiler writes; ``str()`` says which.
    """
    _require(is_tool_name(entry["name"]), "name")
    for field in ("title", "summary", "description", "returns", "category"):
        _check_text(field, entry[field], MAX_SUMMARY if field in ("title", "summary", "category") else MAX_TEXT)
    _require(entry["access"] in ACCESS and (freshness is None or entry["freshness"] in freshness), "access")
    _require(_is_texts(entry["formats"]) and _FORMATS.issuperset(entry["formats"]), "formats")
    _require(len(entry["hash"]) <= _MAX_HASH and entry["hash"].isalnum(), "hash")
    _require(_is_texts(entry["tags"]), "tags")
    for text in (*entry["tags"], *entry["use_instead"]):
        _check_text("tags", text, MAX_SUMMARY)
    _require(all(map(is_tool_name, (*entry["see_also"], *entry["use_instead"].values()))), "see_also")
    check_value(entry["example"])
    _check_call(entry["call"])
    _check_answer(entry["answer"])
    _check_hints(entry.get("hints", {}))
    _check_text("confirm", entry.get("confirm", ""), MAX_SUMMARY)
    _check_relations(entry.get("relations", []))
    check_schema(entry["parameters"])


def _check_call(call: Mapping[str, Any]) -> None:
    check_value(call)
    _require(isinstance(call.get("function"), str), "call.function")
    query, sends, lists = (call.get(key, {}) for key in ("query", "sends", "lists"))
    _require(all(isinstance(part, dict) for part in (query, sends, lists)), "call")
    _require(all(isinstance(key, str) for key in query.values()), "call.query")
    _require(_is_texts(call.get("blank_allowed", [])), "call.blank_allowed")
    try:
        check_argument_forms(call.get("arguments", {}))
    except (AttributeError, LookupError, TypeError):
        raise ValueError("call.arguments has a value that it cannot have") from None
    for listed in lists.values():
        _require(isinstance(listed, dict) and isinstance(listed.get("separator"), str), "call.lists")
        _require(listed["separator"] != "" and _is_texts(listed.get("items", [])), "call.lists")
        most = listed.get("max_items", 1)
        _require(type(most) is int and 1 <= most <= _MAX_LIST_ITEMS, "call.lists")


def _check_relations(relations: Any) -> None:
    _require(isinstance(relations, list) and len(relations) <= _MAX_RELATIONS, "relations")
    for relation in relations:
        _require(_is_texts(relation) and len(relation) in (2, 3), "relations")
        _require(is_tool_name(relation[0]) and relation[1] in _RELATION_KINDS, "relations")
        _check_text("relations", relation[2] if len(relation) == 3 else "-", MAX_SUMMARY)


def _check_answer(answer: Mapping[str, Any]) -> None:
    check_value(answer)
    _require(answer.get("csv") is None or isinstance(answer["csv"], str), "answer.csv")
    _require(_is_texts(answer.get("rows")), "answer.rows")
    _require(_is_texts(answer.get("keys", [])) and _is_texts(answer.get("columns", [])), "answer.columns")
    _require(answer.get("kind") in _KINDS, "answer.kind")
    _require(_is_texts(answer.get("identifiers", [])), "answer.identifiers")


def _check_hints(hints: Any) -> None:
    check_value(hints)
    _require(isinstance(hints, dict), "hints")
    complete, finest, premium, found_by, repeated_as = (
        hints.get(key, {}) for key in ("complete", "finest", "premium", "found_by", "repeated_as")
    )
    _require(all(isinstance(part, dict) for part in (complete, finest, premium, found_by, repeated_as)), "hints")
    for value in (*complete.values(), *finest.values()):
        _require(isinstance(value, str | int | float), "hints.complete")
        _check_text("hints.complete", str(value), MAX_SUMMARY)
    _require(all(isinstance(values, list) for values in premium.values()), "hints.premium")
    for finder in found_by.values():
        _require(isinstance(finder, dict) and is_tool_name(finder.get("tool")), "hints.found_by")
        _check_text("hints.found_by", finder.get("parameter") or "-", MAX_SUMMARY)
    for text in (*repeated_as.values(), hints.get("month", "-"), hints.get("no_data", "-")):
        _check_text("hints", text, MAX_TEXT)
    _require("adjusted_by" not in hints or is_tool_name(hints["adjusted_by"]), "hints.adjusted_by")
    free = hints.get("free_instead", {"tool": "-", "arguments": {}})
    _require(isinstance(free, dict) and is_tool_name(free.get("tool")), "hints.free_instead")
    _require(isinstance(free.get("arguments"), dict), "hints.free_instead")
    free_items = hints.get("free_items", {})
    _require(
        isinstance(free_items, dict) and all(type(most) is int for most in free_items.values()), "hints.free_items"
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MAX_ITEMS and all(isinstance(text, str) for text in value)


def _check_text(field: str, text: Any, most: int) -> None:
    _require(isinstance(text, str) and len(text) <= most, field)
    if problem := text_problem(text):
        raise ValueError(f"{field} {problem}")


def _require(condition: bool, field: str) -> None:
    if not condition:
        raise ValueError(f"{field} has a value that it cannot have")
