"""Compute which words are near the tools in meaning: the section ``near`` of a catalog.

A request often has no word of the tool that it needs. The package ``wordllama`` (MIT) has a vector for each piece of a
word, and the mean of those of a text is what the text is about. A word is near a tool when their vectors are, compared
with those of all words and of all tools; the nearest words of each tool are stored. A search adds up those of the words
of a request. All of this runs when a catalog is compiled, and never in a server.

The same texts and versions give the same bytes on processors of one kind. On another kind single weights may differ by
one, because numbers are added in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolfold.build import search_index
from toolfold.catalog.tokenizer import STOP_WORDS, english_words, stem, words

Array = Any
"""``numpy.ndarray`` of 32-bit floats. numpy is imported where it is used, and the checks run without it."""

_MIN_LETTERS = 3
"""Letters of the shortest word; shorter ones are abbreviations, of which the model knows little."""

_FIELDS = ("source", "name", "summary", "description")
"""Fields whose texts are the text of a tool, in this order; the names of its first parameters follow."""

_MAX_PARAMETERS, _MAX_CHARS = 8, 600
"""Parameters, and characters, of the text of a tool: more is beyond what the model reads of it."""

_SHARES = {True: 0.3, False: 1.5}
_WORDS_OF_TOOL = {True: 100, False: 300}
"""Whether most tools have parameters → share of the scores by meaning, and words that are stored for each tool. On the
tuning parts of the public sets, tools with parameters are found best with the first: their long texts have the words of
requests, and meaning adds tools that are merely alike. Tools of one sentence are found best with the second."""

MAX_WEIGHT = 63
"""The largest stored weight. Three bits were measured to rank as well as these six."""

_LARGEST = 0.999
"""Share of the weights that is below the largest stored weight; the few above are stored as equal to it."""


def is_available() -> bool:
    """Return whether the vectors of words are installed."""
    return find_spec("wordllama") is not None


def build(tools: Mapping[int, Mapping[str, Sequence[str]]]) -> tuple[search_index.Index, float]:
    """Return term → postings of the nearest tools, and their share (:data:`_SHARES`).

    Returns nothing without the vectors of words, and for fewer than two tools.
    """
    if len(tools) < 2 or not is_available():
        return {}, 0.0
    have_parameters = 2 * sum(bool(fields.get("parameter_names")) for fields in tools.values()) >= len(tools)
    return _postings(tools, _WORDS_OF_TOOL[have_parameters]), _SHARES[have_parameters]


def _postings(tools: Mapping[int, Mapping[str, Sequence[str]]], size: int) -> search_index.Index:
    import numpy as np

    texts = [_text(fields) for fields in tools.values()]
    # The most frequent word of each stem, of the words of English and of those in the texts.
    own = sorted({word for text in texts for word in words(text)})
    terms: dict[str, str] = {}
    for word in (*english_words(), *own):
        if len(word) >= _MIN_LETTERS and word.isalpha() and word not in STOP_WORDS:
            terms.setdefault(stem(word), word)
    near_words, near_tools = _centred(vectors(list(terms.values()))), _centred(vectors(texts))
    size = min(size, len(terms))
    best: dict[int, tuple[Array, Array]] = {}
    # One by one: all products of a large catalog take hundreds of MB.
    for position, vector in zip(tools, near_tools, strict=True):
        nearness = near_words @ vector
        chosen = np.sort(np.argpartition(-nearness, size - 1)[:size])
        best[position] = chosen, np.maximum(nearness[chosen], 0)
    largest = np.quantile(np.concatenate([weights for _, weights in best.values()]), _LARGEST)
    postings: dict[int, list[int]] = {}
    for position, (chosen, weights) in sorted(best.items()):
        levels = np.minimum(np.rint(weights * (MAX_WEIGHT / largest)), MAX_WEIGHT).astype(int)
        for at, level in zip(chosen.tolist(), levels.tolist(), strict=True):
            if level:
                postings.setdefault(at, []).extend((position, level))
    found = list(terms)
    return dict(sorted((found[at], weighted) for at, weighted in postings.items()))


def vectors(texts: Sequence[str]) -> Array:
    """Return a vector of length 1 for each of ``texts``."""
    import wordllama

    # Vectors and tokenizer are in the package: nothing is fetched. It finds its tokenizer as in a cache alone.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return model.embed(list(texts), norm=True)


def _text(fields: Mapping[str, Sequence[str]]) -> str:
    parts = [text.strip() for field in _FIELDS for text in fields.get(field, ())]
    parts.append(", ".join(fields.get("parameter_names", ())[:_MAX_PARAMETERS]))
    return ". ".join(part for part in parts if part)[:_MAX_CHARS]


def _centred(vectors: Array) -> Array:
    """Return ``vectors`` without what all have in common, each of length 1."""
    import numpy as np

    centred: Array = vectors - vectors.mean(axis=0)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), np.float32(1e-6))
