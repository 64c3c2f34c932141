"""What upstreams send for the examples of the catalog, shortened."""

import json
from typing import Any

from tests.support.example_responses import RESPONSE_IDS, example_response

_MAX_ITEMS = 4


def load_samples() -> dict[str, list[str]]:
    """Return tool → bodies."""
    samples: dict[str, list[str]] = {}
    for response in map(example_response, RESPONSE_IDS):
        samples.setdefault(response.tool.name, []).append(_shortened(response.body, response.kind))
    return samples


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
