"""What upstreams send for the examples of the catalog, shortened."""

import json
from pathlib import Path
from typing import Any

_MAX_ITEMS = 4


def load_samples(cache: Path) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Return tool → example arguments, and tool → bodies; from ``cache`` once they were fetched from the mock API."""
    if not cache.exists():
        from tests.support.example_responses import RESPONSE_IDS, example_response
        from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES

        samples: dict[str, list[str]] = {}
        for response in map(example_response, RESPONSE_IDS):
            samples.setdefault(response.tool.name, []).append(_shortened(response.body, response.kind))
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps([EXAMPLES, samples]))
    calls, bodies = json.loads(cache.read_text())
    return calls, bodies


def _shortened(body: str, kind: str) -> str:
    if kind == "csv":
        return "\n".join(body.splitlines()[: _MAX_ITEMS + 1]) + "\n"
    return json.dumps(_cut(json.loads(body)))


def _cut(value: Any) -> Any:
    if isinstance(value, list):
        return [_cut(item) for item in value[:_MAX_ITEMS]]
    if isinstance(value, dict):
        items = list(value.items())
        if len(items) > 30 and isinstance(items[0][1], dict):
            items = items[:_MAX_ITEMS]
        return {key: _cut(item) for key, item in items}
    return value
