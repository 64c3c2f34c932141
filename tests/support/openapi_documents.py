"""Small OpenAPI documents, and their tools as the importer reads them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import yaml_loader
from toolfold.build.importers.base import ImportedSource, Tool
from toolfold.build.importers.openapi.importer import OpenApiImporter
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.entries import Auth

OK: dict[str, Any] = {"responses": {"200": {"description": "OK"}}}


class Read(NamedTuple):
    """What the importer returned for a document, and what it refused."""

    found: ImportedSource | None
    problems: list[str]

    @property
    def imported(self) -> ImportedSource:
        assert self.found is not None, self.problems
        return self.found

    @property
    def auth(self) -> dict[str, Any] | None:
        """How calls authenticate, as ``source.yaml`` has it."""
        source = self.imported.source
        usual = {**Auth._field_defaults, "environment": own_variable(source.id)}
        return source.auth and {key: value for key, value in source.auth._asdict().items() if value != usual[key]}

    @property
    def tools(self) -> dict[str, Tool]:
        """Name → tool."""
        return {tool.name: tool for tool in self.imported.tools}

    @property
    def tool(self) -> Tool:
        [tool] = self.tools.values()
        return tool

    @property
    def left_out(self) -> list[str]:
        """What is left out, each without its folder."""
        found = self.problems if self.found is None else list(self.found.left_out)
        return [problem[problem.index("openapi.") :] for problem in found]


def document(paths: Mapping[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    info = {"title": "Pets", "version": "1"}
    return {"openapi": version, "info": info, "servers": [{"url": "https://pets.test/v1"}], "paths": paths, **more}


def operation(method: str = "get", path: str = "/pets", version: str = "3.1.0", /, **given: Any) -> dict[str, Any]:
    """Return a document with one operation, called ``op``; ``components`` is of the document."""
    components = given.pop("components", {})
    return document({path: {method: {"operationId": "op", **OK, **given}}}, version, components=components)


def body(schema: Any, content_type: str = "application/json", **more: Any) -> dict[str, Any]:
    """Return a required request body."""
    return {"required": True, "content": {content_type: {"schema": schema, **more}}}


def read(folder: Path, given: Mapping[str, Any] | str, name: str = "openapi.json", **settings: Any) -> Read:
    """Return what the importer makes of a document, which is data or the text of a file."""
    source = folder / "pets"
    source.mkdir(exist_ok=True)
    text = given if isinstance(given, str) else json.dumps(given, indent=1)
    (source / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    (source / "source.yaml").write_text(json.dumps({"id": "pets", "kind": "openapi", "document": name, **settings}))
    yaml = yaml_loader.load(source / "source.yaml")
    problems: list[str] = []
    importer = OpenApiImporter(source, OpenApiImporter.settings_model.model_validate(yaml.data), yaml)
    return Read(importer.read(problems), problems)
