"""Build the search index of a catalog: the weight of each term for each tool.

The weights are BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): the number of occurrences
of a term in the fields of a tool, each weighted by its field and by the length of the text there, with saturation;
multiplied by the rarity of the term among the tools. They are computed here, so that a search only adds them up.

Beside them are the fields of a tool and what they weigh, the words for the same (``synonyms.txt``), the names of a
source, the spellings, the thresholds of ``catalog.search``, and the requests that a definition shows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from toolfold.build import writer
from toolfold.catalog.query import ACTION, UNKNOWN_NAME, topic_of
from toolfold.catalog.search import MEASURED_TOOLS, measure, score
from toolfold.catalog.store import parse_catalog
from toolfold.catalog.tokenizer import STOP_WORDS, english_words, in_words, stem
from toolfold.catalog.tokenizer import words as split_words

if TYPE_CHECKING:
    from toolfold.build.schema import Vocabulary
    from toolfold.catalog.model import Catalog

Fields = Mapping[str, Sequence[str]]
"""Field → texts of a tool."""

Index = dict[str, list[int]]
"""Term → ``[position, weight, position, weight, …]``, with the positions of tools counted from 0.

A term is a stem, two stems separated by a space, or ``@`` and a kind of proper names.
"""


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
    "preferred": Field(0.3),
    # Of these only the positions are read.
    "outside": Field(0.0),
    "actions": Field(0.0),
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


@functools.lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text; an index, its spellings and those of :func:`thresholds` are of the same texts."""
    return tuple(split_words(text))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text)]


def build(tools: Sequence[Fields]) -> Index:
    """Return the index of ``tools``. A text that begins with ``@`` is one term."""
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    for fields in tools:
        for field, texts in fields.items():
            if FIELDS[field].length_normalization and (length := sum(len(words(text)) for text in texts)):
                lengths[field].append(length)
    mean_lengths = {field: sum(found) / len(found) for field, found in lengths.items()}
    counts: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for position, fields in enumerate(tools):
        for field, texts in fields.items():
            stems = [[text] if text.startswith("@") else _stems(text) for text in texts]
            length, share = sum(map(len, stems)), FIELDS[field].length_normalization
            weight = FIELDS[field].weight / (1 - share + share * length / mean_lengths.get(field, length or 1))
            for terms in stems:
                for term in terms:
                    counts[term][position] += weight
                for pair in itertools.pairwise(terms) if field in BIGRAM_FIELDS else ():
                    counts[" ".join(pair)][position] += BIGRAM_WEIGHT * weight
    weights: dict[str, dict[int, int]] = {}
    for term, of_term in counts.items():
        rarity = math.log(1 + (len(tools) - len(of_term) + 0.5) / (len(of_term) + 0.5))
        weights[term] = {
            position: max(1, round(SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)))
            for position, count in of_term.items()
        }
    # Written requests have the words of users already.
    written = {position for position, fields in enumerate(tools) if fields.get("example_queries")}
    return _with_synonyms(weights, written)


_SYNONYMS = Path(__file__).with_name("synonyms.txt")
_SYNONYM = 0.6
"""Weight of a word where a tool has another word for the same."""


@functools.cache
def _sets_of_words() -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Return term → terms for the same, a stem or two, of all words and of those for what a tool does."""
    same: defaultdict[str, set[str]] = defaultdict(set)
    actions: defaultdict[str, set[str]] = defaultdict(set)
    for line in _SYNONYMS.read_text(encoding="ascii").splitlines():
        listed = [] if line.startswith("#") else line.removeprefix("to ").split()
        searched = [word for word in listed if word not in STOP_WORDS]
        for found, own in ((same, searched), (actions, listed if line.startswith("to ") else [])):
            terms = {" ".join(map(stem, word.split("_"))) for word in own}
            for term in terms:
                found[term] |= terms
    return same, actions


def _with_synonyms(weights: Mapping[str, Mapping[int, int]], written: Container[int]) -> Index:
    """Return the index with the tools of synonyms: a tool that has both words has the larger weight of them."""
    index: Index = {}
    same, _ = _sets_of_words()
    for term in sorted(weights.keys() | same.keys()):
        found = dict(weights.get(term, {}))
        for other in same.get(term, ()):
            for position, weight in weights.get(other, {}).items():
                if position not in written:
                    found[position] = max(found.get(position, 0), round(_SYNONYM * weight))
        if found:
            index[term] = [number for pair in sorted(found.items()) for number in pair]
    return index


def spellings(tools: Sequence[Fields], vocabularies: Iterable[Vocabulary] = ()) -> dict[str, str]:
    """Return all words of the texts, with which a misspelt word is compared.

    They are grouped by first letter and length: ``{"p5": "peaks pence price …"}``.
    """
    known_words = {word for fields in tools for texts in fields.values() for text in texts for word in words(text)}
    known_words.update(word for phrase in synonyms(vocabularies) for word in phrase.split())
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(word for word in known_words if word.isalpha()):
        groups[f"{word[0]}{len(word)}"].append(word)
    return {group: " ".join(found) for group, found in sorted(groups.items())}


def synonyms(vocabularies: Iterable[Vocabulary]) -> dict[str, list[str]]:
    """Return word, or two adjacent words → terms that it also matches; empty for an ignored word."""
    found: dict[str, dict[str, None]] = {}
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            named = [" ".join(words(name)) for name in names.words.split()]
            for name in [*filter(None, named), *([UNKNOWN_NAME] if names.unknown else [])]:
                found.setdefault(name, {})[names.term(kind)] = None
        ignored = set(words(vocabulary.ignored))
        phrases = []
        for meaning, by_language in vocabulary.synonyms.items():
            terms = [term for word in meaning.split() for term in ([word] if word.startswith("@") else _stems(word))]
            for phrase in (phrase for listed in by_language.values() for phrase in listed.split(",")):
                phrases.append(([word for word in words(phrase) if word not in ignored], terms))
        alone = {parts[0] for parts, _ in phrases if len(parts) == 1}
        for parts, terms in phrases:
            # Of a phrase: its first two words together, and each longer word that is not a synonym alone.
            own = [part for part in parts if len(part) > 3 and part not in alone]
            for word in parts if len(parts) < 2 else [" ".join(parts[:2]), *own]:
                found.setdefault(word, {}).update(dict.fromkeys(terms))
        for word in ignored:
            found.setdefault(word, {})
    return {word: list(terms) for word, terms in sorted(found.items())}


def action_of(name: str, summary: str) -> list[str]:
    """Return the terms of what a tool does, by the first verb of its name or that of its summary, and of its topic."""
    _, actions = _sets_of_words()
    own = [*map(stem, in_words(name).lower().split()), *map(stem, summary.lower().split()[:1])]
    verb = next((word for word in own if word in actions), "")
    topic = topic_of(in_words(name.rpartition("__")[2]), verb)
    return [*(ACTION + word for word in sorted(actions.get(verb, ()))), topic]


_FOLDS = 5

_MIN_QUERIES = 100
"""Queries below which a share of one hundredth says nothing."""

_NOTHING, _SURE = 0.025, 0.2
"""Share of the example queries below each threshold. A query that is new in fewer words than a user's fits better, so
that fewer of the users' are below them than these shares (docs/reference/retrieval.md)."""


def thresholds(tools: Sequence[Fields], vocabulary: Vocabulary) -> dict[str, float]:
    """Return ``{"nothing", "sure"}`` of ``catalog.search`` for a source; empty where it has too few example queries.

    The example queries are what its users may ask. A fifth of them at a time is searched in an index without these; so
    they are new to it, as those of users are. No query that the source does not serve is needed.
    """
    if sum(len(fields["example_queries"]) for fields in tools) < _MIN_QUERIES:
        return {}
    measures = []
    for fold in range(_FOLDS):
        left_out = [fields["example_queries"][(fold - at) % _FOLDS :: _FOLDS] for at, fields in enumerate(tools)]
        kept = [
            {**fields, "example_queries": [query for query in fields["example_queries"] if query not in queries]}
            for fields, queries in zip(tools, left_out, strict=True)
        ]
        catalog = catalog_of(kept, [vocabulary])
        for query in (query for queries in left_out for query in queries):
            scored = score(catalog, query, range(len(tools)))
            best = sorted(scored.scores, key=lambda position: (-scored.scores[position], position))[:MEASURED_TOOLS]
            measured = measure(catalog, scored.parsed, scored.weights, best, range(len(tools)))
            measures.append(measured.value)
    measures.sort()
    return {
        name: round(measures[int(share * len(measures))], 2) for name, share in (("nothing", _NOTHING), ("sure", _SURE))
    }


_TOOL = {"summary": "", "category": "", "access": "free", "effect": "read", "source": "", "tags": ()}


def catalog_of(tools: Sequence[Fields], vocabularies: Sequence[Vocabulary] = ()) -> Catalog:
    """Return a catalog that has what a search reads, and whose tools have no names that a query could have."""
    sections = {"index": build(tools), "spellings": spellings(tools, vocabularies), "synonyms": synonyms(vocabularies)}
    named = {f"tool {position}": _TOOL for position in range(len(tools))}
    head = {"sources": {}, "categories": [], "tools": named}
    return parse_catalog(writer.dumps({**head, **sections}))


_FIRST = 5
"""Requests of a tool are written in the order of how likely they are: one that is this many places later counts 1/e."""

_UNSEEN = 0.002
"""Added to the shares of requests with a word, so that a word of a single request adds little."""

_BEFORE, _BETWEEN = ". For: ", "; "


class TellingRequests:
    """The requests for each tool, by how much they tell of it.

    The definition of a tool shows some in the mode ``direct``, where clients search the list of tools. They rank by
    words, mostly by BM25, and index the first 200 characters. What helps there is a word that many requests for the
    tool have and few for the others, and that the text does not have yet.
    """

    def __init__(self, requests: Mapping[str, Sequence[str]]) -> None:
        self._requests = requests
        self._shares = {name: _shares(texts) for name, texts in requests.items()}
        self._means: defaultdict[str, float] = defaultdict(float)
        for shares in self._shares.values():
            for word, share in shares.items():
                self._means[word] += share / len(requests)

    def describe(self, name: str, text: str, most: int) -> str:
        """Return ``text`` with the requests for the tool that tell most of it, in at most ``most`` characters."""
        known = _all_stems(f"{in_words(name)} {text}")
        left, before = list(dict.fromkeys(self._requests.get(name, ()))), _BEFORE
        while fitting := [request for request in left if len(text) + len(before) + len(request) <= most]:
            gains = {request: self._gain(name, _all_stems(request) - known) for request in fitting}
            best = max(fitting, key=lambda request: gains[request] / (len(request) + len(_BETWEEN)))
            if not gains[best]:
                break
            text, before = f"{text}{before}{best}", _BETWEEN
            known |= _all_stems(best)
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
        for word in _all_stems(request):
            found[word] += weight / math.fsum(weights)
    return dict(found)


def _all_stems(text: str) -> set[str]:
    """Return the stems of all words; clients drop no stop words, and "who" or "when" tell something."""
    return {stem(word) for word in in_words(text).lower().replace("/", " ").split()}


Array = Any
"""``numpy.ndarray`` of 32-bit floats. numpy is imported where it is used, and the checks run without it."""

_MIN_LETTERS = 3
"""Letters of the shortest word; shorter ones are abbreviations, of which the model knows little."""

_MEANT_FIELDS = ("source", "name", "summary", "description")
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


def has_vectors() -> bool:
    """Return whether the vectors of words are installed."""
    return find_spec("wordllama") is not None


def nearest_words(tools: Mapping[int, Mapping[str, Sequence[str]]]) -> tuple[Index, float]:
    """Return term → postings of the nearest tools, and their share (:data:`_SHARES`): the section ``near``.

    Each position is less the one before it: most are small, and the section of 4,000 tools is a third smaller.

    A request often has no word of the tool that it needs. The package ``wordllama`` (MIT) has a vector for each piece
    of a word, and the mean of those of a text is what the text is about. A word is near a tool when their vectors are,
    compared with those of all words and of all tools; the nearest words of each tool are stored. A search adds up those
    of the words of a request. All of this runs when a catalog is compiled, and never in a server.

    The same texts and versions give the same bytes on processors of one kind. On another kind single weights may differ
    by one, because numbers are added in another order.

    Returns nothing without the vectors of words, and for fewer than two tools.
    """
    if len(tools) < 2 or not has_vectors():
        return {}, 0.0
    have_parameters = 2 * sum(bool(fields.get("parameter_names")) for fields in tools.values()) >= len(tools)
    return _nearest(tools, _WORDS_OF_TOOL[have_parameters]), _SHARES[have_parameters]


def _nearest(tools: Mapping[int, Mapping[str, Sequence[str]]], size: int) -> Index:
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
    last = dict[int, int]()
    for position, (chosen, weights) in sorted(best.items()):
        levels = np.minimum(np.rint(weights * (MAX_WEIGHT / largest)), MAX_WEIGHT).astype(int)
        for at, level in zip(chosen.tolist(), levels.tolist(), strict=True):
            if level:
                postings.setdefault(at, []).extend((position - last.get(at, 0), level))
                last[at] = position
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
    parts = [text.strip() for field in _MEANT_FIELDS for text in fields.get(field, ())]
    parts.append(", ".join(fields.get("parameter_names", ())[:_MAX_PARAMETERS]))
    return ". ".join(part for part in parts if part)[:_MAX_CHARS]


def _centred(vectors: Array) -> Array:
    """Return ``vectors`` without what all have in common, each of length 1."""
    import numpy as np

    centred: Array = vectors - vectors.mean(axis=0)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), np.float32(1e-6))
