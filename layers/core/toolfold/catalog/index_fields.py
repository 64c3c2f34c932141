"""The fields of a tool that the search index is made of, and how much a term in each of them counts.

The compiler adds the counts up to one weight (``build.search_index``). Standard library only.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from toolfold.catalog.tokenizer import in_words, stems, words

_BY_LENGTH = 0.8
"""b of BM25F, near its usual 0.75: a word of a long description says less than one of a short one."""


class Field(NamedTuple):
    """How the texts of one field count: the weight of one occurrence, and how far a long text reduces it (0 to 1)."""

    weight: float
    length_normalization: float = 0.0


FIELDS: Mapping[str, Field] = {
    "name": Field(2.5, _BY_LENGTH),
    "source": Field(3.0, _BY_LENGTH),
    "title": Field(2.0, _BY_LENGTH),
    "summary": Field(1.0, _BY_LENGTH),
    "description": Field(0.4, _BY_LENGTH),
    "parameter_names": Field(0.6, _BY_LENGTH),
    "parameter_descriptions": Field(0.5, _BY_LENGTH),
    "category": Field(0.5, _BY_LENGTH),
    "tags": Field(1.0, _BY_LENGTH),
    # Phrases that were written for the search: a tool with many of them is not less likely for each.
    "aliases": Field(3.0),
    "example_queries": Field(1.5),
    "redirected_queries": Field(1.0),
    "kinds": Field(2.0),
    "outside": Field(0.0),
    "actions": Field(2.0),
    "preferred": Field(1.0),
}
"""Chosen on the tuning halves of benchmarks/retrieval and of public sets (docs/reference/retrieval.md)."""

BIGRAM_FIELDS = frozenset({"name", "source", "aliases", "title", "summary", "example_queries", "redirected_queries"})
BIGRAM_WEIGHT = 0.5
"""Fields in which two adjacent words are also one term, and its weight relative to a single word."""

SATURATION = 2.5
"""k1 of BM25, at the upper end of the usual range."""

SCALE = 100
"""Weights are stored as integers in hundredths: they are short, and their sums do not depend on the order."""


_OF_ANY_HOST = frozenset(("ac", "api", "apis", "co", "com", "gov", "net", "org", "www"))
"""Labels that do not say whose a host is."""


def source_names(title: str, source_id: str, base_url: str) -> list[str]:
    """Return the names by which a request may call a source: its title, its id and whose host it is.

    A name that says nothing new is left out.

    >>> source_names("Payments", "stripe_v1", "https://api.stripe.com/v1")
    ['Payments', 'stripe v1']
    >>> source_names("Tickets", "jira", "https://api.atlassian.net")
    ['Tickets', 'jira', 'atlassian']
    """
    labels = (urlsplit(base_url).hostname or "").split(".")[:-1]
    owner = next((label for label in reversed(labels) if label not in _OF_ANY_HOST and not label.isdigit()), "")
    names: list[str] = []
    known: set[str] = set()
    for name in (title, in_words(source_id), in_words(owner)):
        found = words(name)
        if not known.issuperset(found) and "".join(found) not in known:
            names.append(name)
            known.update(found, ["".join(found)])
    return names


def term_counts(
    fields: Mapping[str, Sequence[str]], mean_lengths: Mapping[str, float]
) -> dict[str, defaultdict[str, float]]:
    """Return field → term → its occurrences there, weighted by the field and by the length of its texts.

    Args:
        fields: Field → texts. A text that begins with ``@`` is one term, a kind of proper names.
        mean_lengths: Field → mean number of words in it, over the tools that have any.
    """
    counts: dict[str, defaultdict[str, float]] = {}
    for field, texts in fields.items():
        found = [[text] if text.startswith("@") else stems(text) for text in texts]
        length, share = sum(map(len, found)), FIELDS[field].length_normalization
        weight = FIELDS[field].weight / (1 - share + share * length / mean_lengths.get(field, length or 1))
        own = counts[field] = defaultdict(float)
        for terms in found:
            for term in terms:
                own[term] += weight
            if field in BIGRAM_FIELDS:
                for pair in itertools.pairwise(terms):
                    own[" ".join(pair)] += BIGRAM_WEIGHT * weight
    return counts
