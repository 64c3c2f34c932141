"""The thresholds from which the tools of a source fit a query."""

import itertools

from toolfold.build import search_index
from toolfold.build.schema import Vocabulary

THINGS = ("invoice", "parcel", "ticket", "garden", "bridge", "violin", "lantern", "harbour", "pigeon", "anchor")
VERBS = ("send", "count", "paint", "weigh", "rent", "clean", "photograph", "insure", "store", "repair")


def tool(thing: str, queries: int) -> dict[str, list[str]]:
    texts = [f"{verb} one {thing} {place}" for place, verb in itertools.product(("here", "abroad"), VERBS)]
    return {"title": [thing], "summary": [f"Everything about a {thing}"], "example_queries": texts[:queries]}


def test_a_source_with_few_example_queries_has_no_thresholds() -> None:
    assert search_index.thresholds([tool(thing, 9) for thing in THINGS], Vocabulary()) == {}


def test_thresholds_are_in_order_and_the_same_each_time() -> None:
    tools = [tool(thing, 20) for thing in THINGS]
    found = search_index.thresholds(tools, Vocabulary())

    assert list(found) == ["nothing", "sure"]
    assert found["nothing"] <= found["sure"]
    assert found == search_index.thresholds(tools, Vocabulary())
