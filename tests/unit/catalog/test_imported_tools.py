"""The search finds tools by the texts that they come with, without phrases written for it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks.retrieval_public.public_sets import PublicTool, compile_tools
from toolfold.build import search_index
from toolfold.catalog.query import action, split_query
from toolfold.catalog.search import score, search
from toolfold.catalog.tokenizer import STOP_WORDS, in_words, stem

TOOLS = (
    PublicTool("sendInvoice", "Send an invoice to a customer.", (("due_date", "Day on which it must be paid"),)),
    PublicTool("listRooms", "List meeting rooms.", (("seats", "Least number of seats"),), source="Office"),
    PublicTool("bookRoom", "Book a meeting room for some hours.", (("room", "Name of the room"),), source="Office"),
    PublicTool("getForecast", "Weather forecast of a place for ten days.", (("place", "Name of the town"),)),
    PublicTool("play", "Play a song. " + "The catalog has music of every country and of every kind. " * 8),
)


def found(query: str) -> list[str]:
    catalog = compile_tools(TOOLS)
    return [TOOLS[hit.position].name for hit in search(catalog, query).hits]


@pytest.mark.parametrize(
    ("query", "name"),
    [("how many seats does it have", "listRooms"), ("when is it due", "sendInvoice"), ("office booking", "bookRoom")],
)
def test_parameters_and_the_source_are_searched(query: str, name: str) -> None:
    assert found(query)[0] == name


def test_a_word_counts_less_in_a_long_text() -> None:
    short, long = ({"description": ["storm " + "more words beside it " * words]} for words in (1, 20))
    built = search_index.build([short, long, {"description": ["another text"]}])["storm"]
    assert built[0::2] == [0, 1]
    assert built[1] > 1.3 * built[3]


def test_each_part_of_a_request_finds_its_tool() -> None:
    several = "Send the invoice to the customer Ann, and the weather forecast of the place"
    assert set(found(several)[:2]) == {"sendInvoice", "getForecast"}


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("Book the big room. Then send the March invoice!", 2),
        ("compare price and volume history of coins", 1),
        ("find cheap direct flights and then book the hotel downtown", 2),
        ("a\nb\nc", 0),
        ("same three words; " * 1000, 8),
    ],
)
def test_parts_with_too_few_words_are_not_searched_alone(query: str, parts: int) -> None:
    assert len(split_query(query)) == parts


def test_a_repeated_word_weighs_at_most_twice() -> None:
    catalog = compile_tools(TOOLS)
    once, often = (search(catalog, "invoice " * times).hits[0].score for times in (1, 100))
    assert once < often < 2 * once


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("create a playlist", "addPlaylist"),
        ("new playlist", "addPlaylist"),
        ("drop the playlist of songs", "playlists_delete"),
        ("please remove a playlist", "playlists_delete"),
        ("can you help me to erase this playlist", "playlists_delete"),
        ("rename my playlist", "put_playlist"),
        ("insert", "addPlaylist"),
        ("show me the playlists", "listPlaylists"),
        ("what playlists do I have", "listPlaylists"),
        ("jettison", ""),
    ],
)
def test_what_a_request_wants_done_decides_between_tools_for_the_same(query: str, name: str) -> None:
    names = ("getPlaylist", "addPlaylist", "playlists_delete", "put_playlist", "listPlaylists")
    actions = {name: search_index.action_of(name, "") for name in names}
    texts = [{"name": [in_words(name)], "summary": ["A playlist"], "actions": actions[name]} for name in names]
    scores = score(search_index.catalog_of(texts), query, range(len(names))).scores
    assert max(scores, key=scores.__getitem__, default=None) == (names.index(name) if name else None)


def test_the_summary_says_what_a_tool_does_whose_name_does_not() -> None:
    assert "@:delet" in search_index.action_of("playlist", "Deletes a playlist.")
    assert search_index.action_of("playlist", "A playlist to delete.") == ["@~playlist"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("list bank transactions", "getBankTransactions"),
        ("Show me all bank transactions, please", "getBankTransactions"),
        ("bank transactions", "getBankTransactions"),
        ("create a bank transaction", "createBankTransaction"),
    ],
)
def test_a_tool_whose_name_says_what_a_request_says_precedes_longer_names(query: str, name: str) -> None:
    names = ["getBankTransactionAttachments", "getBankTransactions", "getBank", "listAttachments",
             "updateOrCreateBankTransactions", "createBankTransaction"]  # fmt: skip
    texts: list[dict[str, list[str]]] = [
        {"name": [in_words(one)], "summary": ["Bank transactions of an account" * (one == names[0])],
         "actions": search_index.action_of(f"ledger__{one}", "")}
        for one in names
    ]  # fmt: skip
    assert names[search(search_index.catalog_of(texts), query).hits[0].position] == name


def test_words_for_an_action_precede_the_rest_of_a_request() -> None:
    assert list(action("can you please remove the list")) == ["can", "you", "please", "remove"]
    assert list(action("price list")) == ["price"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("a tune", ["play"]),  # of the same set as "song"
        ("music", ["play"]),  # the word itself
        ("client", ["sendInvoice"]),
        ("bill", ["sendInvoice"]),
        ("sing", []),
        ("rooster", []),  # an English word is not a misspelt other one
        ("roooms", ["bookRoom", "listRooms"]),
    ],
)
def test_other_words_for_the_same_find_a_tool(query: str, names: list[str]) -> None:
    assert found(query) == names


def test_a_tool_with_written_requests_has_the_words_of_its_texts_alone() -> None:
    texts = [{"summary": ["a song"]}, {"summary": ["a song"], "example_queries": ["the song"]}]
    built = search_index.build([*texts, {"summary": ["other"]}])
    assert built["tun"][::2] == [0]
    assert built["song"][::2] == [0, 1]
    assert built["tun"][1] < built["song"][1]


def test_no_two_words_of_different_sets_are_one_term_by_chance() -> None:
    spelled = defaultdict(set)
    for number, line in enumerate(Path(search_index.__file__).with_name("synonyms.txt").read_text().splitlines()):
        for word in [] if line.startswith("#") else line.removeprefix("to ").split():
            spelled[stem(word)].add((word, number))
    shared = [found for found in spelled.values() if len({number for _, number in found}) > 1]
    assert [found for found in shared if len({word for word, _ in found}) > 1] == []


def test_a_stop_word_is_a_synonym_of_nothing() -> None:
    assert search_index.build([{"summary": ["list"]}, {"summary": ["other"]}]).keys().isdisjoint(STOP_WORDS)
