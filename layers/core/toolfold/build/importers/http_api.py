"""HTTP APIs that a person describes by hand: turn their YAML into tools, and into the requests that calls are."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from toolfold.build import yaml_loader
from toolfold.build.importers import base
from toolfold.build.importers.http_tools import HttpApiSettings, HttpCategory, HttpParameter, HttpTool
from toolfold.build.schema import IDENTIFIER, VOCABULARY
from toolfold.build.yaml_loader import parse_model
from toolfold.catalog.tokenizer import in_words
from toolfold.fuzzy import closest
from toolfold.results import values
from toolfold.sources.http_api.binding import BindingError, check_binding
from toolfold.sources.http_api.body import FORM, NO_BODY_EXPECTED
from toolfold.sources.http_api.request import taken_names
from toolfold.sources.http_api.styles import placeholders


def located(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, HttpParameter]:
    """Return ``parameters`` with their places, and one for each placeholder of the path, which is required."""
    usual = "query" if tool.method in NO_BODY_EXPECTED else "body"
    sent = {parameter.sent_as or name: name for name, parameter in parameters.items()}
    found = {name: one if one.in_ else one.model_copy(update={"in_": usual}) for name, one in parameters.items()}
    for name in placeholders(tool.path):
        own = sent.get(name, name)
        parameter = found.get(own) or HttpParameter.model_validate({"type": "string"})
        found[own] = parameter.model_copy(update={"required": parameter.fixed is None, "in_": "path"})
    return found


def parameters_schema(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments; what is fixed is left out."""
    shown = {name: parameter for name, parameter in parameters.items() if parameter.fixed is None}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _property(parameter) for name, parameter in shown.items()},
    }
    if required := [name for name, parameter in shown.items() if parameter.required]:
        schema["required"] = required
    if tool.any_of:
        schema["anyOf"] = [{"required": [name]} for name in tool.any_of]
    definitions: dict[str, Any] = {}
    for parameter in shown.values():
        definitions |= (parameter.schema_ or {}).get("$defs", {})
    schema["additionalProperties"] = False
    return {**schema, "$defs": definitions} if definitions else schema


_USUAL: Mapping[str, tuple[Any, ...]] = {
    "method": ("GET",), "parameters": ({},), "body": ({},), "response": (None, "json")}  # fmt: skip
"""Key of a binding → values with which it is left out."""


def tool_binding(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the binding of a tool: see ``sources.http_api.binding``. Keys with their usual value are left out."""
    described: dict[str, Any] = {}
    sent = ("style", "explode", "slashes", "content_type")
    for name, parameter in parameters.items():
        wire = parameter.sent_as or name
        usual = "path" if wire in placeholders(tool.path) else "query"
        how: dict[str, Any] = {} if parameter.in_ == usual else {"in": parameter.in_}
        how |= ({} if wire == name else {"name": wire}) | _how(parameter, sent)
        if how and parameter.in_ != "body":
            described[name] = how
    body: dict[str, Any] = {}
    if in_body := {name: parameter for name, parameter in parameters.items() if parameter.in_ == "body"}:
        body = {"content_type": FORM} if tool.body.type == "form" else {}
        if tool.body.parameter is not None:
            body["argument"] = tool.body.parameter
        else:
            fields = {name: parameter.sent_as or name for name, parameter in in_body.items()}
            keys = ("style", "explode")
            encoding = {fields[name]: how for name, parameter in in_body.items() if (how := _how(parameter, keys))}
            body |= {"fields": fields, **({"encoding": encoding} if encoding else {})}
    bound = {"method": tool.method, "path": tool.path, "parameters": described, "body": body, "response": tool.response}
    return {key: value for key, value in bound.items() if value not in _USUAL.get(key, ())}


def _values(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return what a call does with its arguments before they are sent."""
    lists: dict[str, Any] = {}
    for name, one in parameters.items():
        joined = {"separator": one.separator, "max_items": one.max_joined, "items": one.item_enum}
        if one.separator:
            lists[name] = {key: value for key, value in joined.items() if value}
    given = {name: one.sends if one.fixed is None else one.fixed for name, one in parameters.items()}
    sends = {name: value for name, value in given.items() if value is not None}
    arguments = tool.arguments.model_dump(exclude_unset=True) if tool.arguments else {}
    return {"lists": lists, "sends": sends, "arguments": arguments}


def _hints(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return what answers lack, and what to call instead of a call that failed."""
    hints: dict[str, Any] = {
        key: {name: value for name, one in parameters.items() if (value := getattr(one, key)) not in (None, [])}
        for key in ("complete", "finest", "premium", "free_items", "repeated_as")
    }
    hints["found_by"] = {name: one.found_by.model_dump() for name, one in parameters.items() if one.found_by}
    hints["month"] = next((name for name, one in parameters.items() if one.selects_month), None)
    hints["free_instead"] = tool.free_instead.model_dump() if tool.free_instead else None
    hints |= {"adjusted_by": tool.adjusted_by, "no_data": tool.no_data}
    return {key: value for key, value in hints.items() if value}


def _property(parameter: HttpParameter) -> dict[str, Any]:
    rule = parameter.keywords
    if parameter.schema_ is not None:
        return {**rule, **{key: value for key, value in parameter.schema_.items() if key != "$defs"}}
    if (example := rule.pop("example", None)) is not None:
        rule.setdefault("examples", [example])
    if parameter.item_enum:
        rule["description"] = f"{rule.get('description', '')} Any of: {', '.join(parameter.item_enum)}.".strip()
    return rule


def _how(parameter: HttpParameter, keys: Iterable[str]) -> dict[str, Any]:
    """Return those of ``keys`` that the parameter sets to another value than the usual one."""
    return {key: value for key in keys if (value := getattr(parameter, key)) != HttpParameter.model_fields[key].default}


_OTHER_FILES = frozenset({"source.yaml", base.OVERLAY, VOCABULARY})
_NUMBERED = re.compile(r"[0-9]+[.:] ")
Where = Callable[..., str]

_COPIED = (
    *("title", "summary", "description", "tags", "example", "example_queries", "aliases", "relations", "confirm"),
    *("access", "freshness", "formats", "common"),
)
"""Fields of a tool that stay as they are, where they are given."""


class HttpApiImporter(base.Importer[HttpApiSettings]):
    """Read ``source.yaml`` and the files of further categories."""

    settings_model = HttpApiSettings
    is_imported = False

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return the tools of all files in the folder."""
        settings, document = self.settings, self.document
        tools: list[base.Tool] = []
        categories: dict[str, base.Category] = {}
        for number, tool in enumerate(settings.tools):
            tools.append(_tool(settings, tool, "", functools.partial(document.where, "tools", number), problems))
        for name, file, category in self._categories(problems):
            title = category.title or in_words(name).capitalize()
            categories[name] = base.Category(title, category.description or "")
            for number, tool in enumerate(category.tools):
                tools.append(_tool(settings, tool, name, functools.partial(file.where, "tools", number), problems))
        if not (tools or problems):
            problems.append(f"{self.where()}: the source has no tools: add some as `tools:`")
        stated = {"function_key", "format_parameter", "freshness", "unknown_notice"}
        source = settings.as_source(settings.base_url)
        source = source._replace(
            **settings.model_dump(include=stated, exclude_defaults=True),
            arguments=settings.arguments.model_dump(exclude_defaults=True) if settings.arguments else {},
            faults=tuple(fault.model_dump(exclude_none=True) for fault in settings.faults),
        )
        return base.ImportedSource(tools, source, categories)

    def _categories(self, problems: list[str]) -> Iterator[tuple[str, yaml_loader.Document, HttpCategory]]:
        settings = self.settings
        problems += (f"{path}:1: is not read; call it {path.stem}.yaml" for path in sorted(self.folder.glob("*.yml")))
        files = sorted(path.stem for path in self.folder.glob("*.yaml") if path.name not in _OTHER_FILES)
        named = [name for name in settings.categories if name in files]
        where = self.where("categories")
        problems += (f"{where}: there is no file {name}.yaml" for name in settings.categories if name not in files)
        for name in (*named, *(name for name in files if name not in named)):
            file = yaml_loader.load(self.folder / f"{name}.yaml")
            if not re.fullmatch(IDENTIFIER, name):
                problems.append(f"{file.path}:1: the name of the file must be a to z, digits and _, a letter first")
                continue
            category = parse_model(HttpCategory, file, file.data, problems)
            if settings.categories and name not in named and not settings.prefix:
                problems.append(f"{file.path}:1: is not listed in the categories of source.yaml")
            if category is not None:
                yield name, file, category


def _tool(settings: HttpApiSettings, tool: HttpTool, category: str, where: Where, problems: list[str]) -> base.Tool:
    parameters = located(tool, _resolved(settings, tool, where, problems))
    call = tool_binding(tool, parameters)
    problems += _problems(settings, tool, parameters, where)
    try:
        check_binding(call)
    except BindingError as error:
        problems.append(f"{where('parameters')}: {tool.name}: {error}")
    call |= {key: value for key, value in _values(tool, parameters).items() if value}
    if settings.function_key:
        function = tool.function or tool.name
        call |= {"function": function, "sends": {settings.function_key: function, **call.get("sends", {})}}
        # A complete JSON Schema decides whether an empty string is a value.
        call["blank_allowed"] = [name for name, one in parameters.items() if one.schema_ is not None]
    return base.Tool(
        name=tool.name,
        where=where,
        parameters=parameters_schema(tool, parameters),
        effect=tool.effect or base.effect_of_method(tool.method),
        category=category,
        call=call,
        returns=tool.returns.outline or _outline(tool),
        answer=_answer(tool),
        expose=tool.expose is not False,
        use_instead={other.phrase: other.tool for other in tool.use_instead},
        hints=_hints(tool, parameters),
        **{field: value for field in _COPIED if (value := getattr(tool, field)) is not None},
    )


def _answer(tool: HttpTool) -> dict[str, Any]:
    returns, shape = tool.returns, tool.returns.json_
    if shape is None:
        return {"csv": returns.csv, "rows": returns.rows, "kind": "typed" if "json" in tool.formats else None}
    described = {"keys": shape.keys, "columns": shape.columns} if shape.columns else {}
    return {"csv": returns.csv, "rows": shape.rows.split("|"), "kind": shape.kind, **described}


def _outline(tool: HttpTool) -> str:
    """Return the fields of an answer in one line, by the names that ``select`` takes.

    ``rows: columns``, or the names of several tables with the same columns; ``fields: …`` for a record without rows;
    and ``meta: …`` for what comes beside the rows.
    """
    shape, header = tool.returns.json_, tool.returns.csv
    word, columns, meta = "rows", [] if shape is None else shape.columns, list[str]()
    if header is not None and "csv" in tool.formats:  # calls request CSV where there is a choice
        columns = values.clean_names(header.split(","))
    elif all(map(_NUMBERED.match, columns)):  # some entries are more than a name: ``terms[{state}]``
        columns = values.clean_names(columns)
    if shape is not None and shape.kind == "object":
        word = "fields"
    elif shape is not None and "csv" not in tool.formats:
        paths = [path for path in shape.rows.split("|") if path]
        word = ", ".join(paths) if len(paths) > 1 else word
        meta = [key for key in shape.keys if key not in {path.partition(".")[0] for path in paths}]
    outline = f"{word}: {','.join(columns)}" if shape or header else ""
    return f"{outline}; meta: {','.join(meta)}" if meta else outline


def _resolved(settings: HttpApiSettings, tool: HttpTool, where: Where, problems: list[str]) -> dict[str, HttpParameter]:
    """Return the parameters of a tool, with those that are described for all tools."""
    found: dict[str, HttpParameter] = {}
    for key, parameter in tool.parameters.items():
        given, name, used = parameter.model_fields_set - {"ref"}, parameter.name or key, parameter
        if parameter.ref is not None or not given:
            ref = parameter.ref or key
            if (shared := settings.parameters.get(ref)) is None:
                problems.append(
                    f"{where('parameters', ref)}: parameter {ref} has no type, and `parameters` of source.yaml has "
                    f"none of that name.{closest(ref, settings.parameters)}"
                )
                continue
            name = parameter.name or shared.name or ref
            used = shared.model_copy(update={field: getattr(parameter, field) for field in given})
        if name in found:
            problems.append(f"{where('parameters', name)}: parameter {name} is given twice")
        found[name] = used
    return found


def _problems(
    settings: HttpApiSettings, tool: HttpTool, parameters: Mapping[str, HttpParameter], where: Where
) -> Iterator[str]:
    whole, in_body = tool.body.parameter, [name for name, one in parameters.items() if one.in_ == "body"]
    if whole is not None and whole not in in_body:
        yield f"{where('body')}: body: there is no parameter {whole} in the body.{closest(whole, in_body)}"
    if tool.effect == "read" and tool.method == "DELETE":
        yield f"{where('effect')}: effect: DELETE does not only read"
    if unknown := sorted(set(tool.any_of) - parameters.keys()):
        yield f"{where('any_of')}: any_of names parameters that do not exist: {', '.join(unknown)}"
    places = dict.fromkeys(taken_names(settings.catalog_auth), "the key")
    definitions: dict[str, Any] = {}
    for name, one in parameters.items():
        at = f"{where('parameters', name)}: parameters.{name}"
        if one.schema_ is None and one.fixed is None and one.keywords.keys().isdisjoint({"type", "enum"}):
            yield f"{at}: type is missing: string, integer, number, …; or give the complete schema"
        sent_as = one.sent_as or name
        place = str(one.in_), sent_as.lower() if one.in_ == "header" else sent_as
        if (other := places.setdefault(place, name)) != name:
            yield f"{at}: is sent in the place of {other}"
        for key, definition in (one.schema_ or {}).get("$defs", {}).items():
            if definitions.setdefault(key, definition) != definition:
                yield f"{at}: another parameter defines $defs.{key} differently"
