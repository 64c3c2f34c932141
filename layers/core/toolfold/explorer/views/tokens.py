"""``POST ui/api/tokens``: how many tokens texts have, as budgets count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.explorer.answers import json_answer
from toolfold.explorer.page_request import invalid
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]

MAX_TEXTS = 100


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return the number of tokens of each text, in the order of the texts."""
    texts = request.json().get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise invalid("texts must be a list of texts.", 'Send {"texts": ["…"]}.')
    if len(texts) > MAX_TEXTS:
        raise invalid(f"There are {len(texts):,} texts.", f"Send at most {MAX_TEXTS}.")
    return json_answer({"tokens": [tokens.count(text) for text in texts]})
