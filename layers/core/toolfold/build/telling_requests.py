"""Choose the requests that the definition of a tool shows in the mode ``direct``, where clients search the list.

They rank by words, mostly by BM25, and index the first 200 characters. What helps there is a word that many requests
for the tool have and few for the others, and that the text does not have yet; each character is to tell as much as
possible.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from toolfold.catalog.tokenizer import in_words, stem

_FIRST = 5
"""Requests of a tool are written in the order of how likely they are: one that is this many places later counts 1/e."""

_UNSEEN = 0.002
"""Added to the shares of requests with a word, so that a word of a single request adds little."""

_BEFORE, _BETWEEN = ". For: ", "; "


class TellingRequests:
    """The requests for each tool, by how much they tell of it."""

    def __init__(self, requests: Mapping[str, Sequence[str]]) -> None:
        self._requests = requests
        self._shares = {name: _shares(texts) for name, texts in requests.items()}
        self._means: defaultdict[str, float] = defaultdict(float)
        for shares in self._shares.values():
            for word, share in shares.items():
                self._means[word] += share / len(requests)

    def describe(self, name: str, text: str, most: int) -> str:
        """Return ``text`` with the requests for the tool that tell most of it, in at most ``most`` characters."""
        known = _stems(f"{in_words(name)} {text}")
        left, before = list(dict.fromkeys(self._requests.get(name, ()))), _BEFORE
        while fitting := [request for request in left if len(text) + len(before) + len(request) <= most]:
            gains = {request: self._gain(name, _stems(request) - known) for request in fitting}
            best = max(fitting, key=lambda request: gains[request] / (len(request) + len(_BETWEEN)))
            if not gains[best]:
                break
            text, before = f"{text}{before}{best}", _BETWEEN
            known |= _stems(best)
            left.remove(best)
        return text

    def _gain(self, name: str, found: set[str]) -> float:
        """Return how much the words tell of the tool: the terms of a Kullback-Leibler divergence."""
        shares = self._shares[name]
        ratios = {word: (shares[word] + _UNSEEN) / (self._means[word] + _UNSEEN) for word in found}
        return math.fsum(shares[word] * max(0.0, math.log(ratio)) for word, ratio in sorted(ratios.items()))


def _shares(requests: Sequence[str]) -> dict[str, float]:
    """Return word → weighted share of the requests that have it."""
    weights = [math.exp(-at / _FIRST) for at in range(len(requests))]
    found: defaultdict[str, float] = defaultdict(float)
    for request, weight in zip(requests, weights, strict=True):
        for word in _stems(request):
            found[word] += weight / math.fsum(weights)
    return dict(found)


def _stems(text: str) -> set[str]:
    """Return the stems of all words; clients drop no stop words, and "who" or "when" tell something."""
    return {stem(word) for word in in_words(text).lower().replace("/", " ").split()}
