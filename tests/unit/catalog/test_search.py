"""The search ranks tools by words, corrects typos, reads other languages, and returns nothing outside the catalog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within
from tests.unit.catalog.test_alpha_vantage_catalog import CATEGORIES, FOLDER
from toolfold.build import search_index, yaml_loader
from toolfold.catalog.model import Catalog
from toolfold.catalog.query import correct
from toolfold.catalog.search import MEASURED_TOOLS, Fit, SearchResult, closest_names, search
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.catalog.tokenizer import stem, stems, words

CATALOG = FileStore(bundled_path())()


def found(catalog: Catalog, query: str, most: int = 10) -> list[str]:
    return [catalog.summary(hit.position).name for hit in search(catalog, query).hits[:most]]


def best_name(catalog: Catalog, query: str) -> str:
    return found(catalog, query)[0]


@pytest.mark.parametrize(
    "forms",
    [("price", "prices", "priced", "pricing"), ("stock", "stocks"), ("company", "companies"), ("run", "running")],
)
def test_forms_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_stop_words_are_removed() -> None:
    assert words("What is the Price of it, please?") == ["price"]


def test_accents_and_apostrophes_are_ignored() -> None:
    assert stems("Société's") == stems("societe")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("volatilty", "volatility"),
        ("histroy", "history"),
        ("balnce", "balance"),
        ("unemploymnet", "unemployment"),
        ("stok", "stock"),
        ("divvident", "dividend"),
        *((word, word) for word in ("x", "abc", "qzxjvkqz", "12345", "a1b2c3", "x" * 10_000)),
    ],
)
def test_a_typo_is_corrected_and_a_word_unlike_any_other_is_unchanged(written: str, expected: str) -> None:
    assert correct(CATALOG, written) == expected


def test_most_limits_the_edits() -> None:
    assert correct(CATALOG, "divvident", most=1) == "divvident"


@given(st.text())
def test_no_text_produces_an_empty_term(text: str) -> None:
    assert all(term for term in stems(text))


@given(st.text(max_size=60))
def test_hits_of_any_query_are_sorted_and_in_the_catalog(query: str) -> None:
    hits = search(CATALOG, query).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.position < len(CATALOG) for hit in hits)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("moving average of the closing price, exponential", "EMA"),
        ("RSI", "RSI"),
        ("list of all members of congress", "POLITICIAN_METADATA"),
        ("unemploymnt", "UNEMPLOYMENT"),
        # A proper name alone selects the preferred tool.
        ("MSFT price", "GLOBAL_QUOTE"),
        ("EUR/USD", "CURRENCY_EXCHANGE_RATE"),
        # Names of tools that are also English words.
        ("AD for IBM", "AD"),
        ("SAR of Ferrari on daily bars", "SAR"),
        ("T3 with a volume factor", "T3"),
        ("what does a bushel of corn cost", "CORN"),
        ("plus_di please", "PLUS_DI"),
        # Dates, numbers and proper names do not change the ranking.
        ("balance sheet of Siemens in 2019, 2020 and 2021", "BALANCE_SHEET"),
        ("Bank of America stock price", "GLOBAL_QUOTE"),  # a name of several words is not read by its words
        ("ticker for deutsche bank", "SYMBOL_SEARCH"),
        # The more words there are beside the names, the less the default tool for them is preferred.
        ("euro dollar every 5 minutes", "FX_INTRADAY"),
        ("bitcoin price", "CURRENCY_EXCHANGE_RATE"),
        ("best buy earnings date", "EARNINGS_CALENDAR"),
        ("EUR/USD 15-min bars", "FX_INTRADAY"),
        # Sibling tools know the same words.
        ("EUR/JPY ohlc per week", "FX_WEEKLY"),
        ("200dma of Intel", "SMA"),
        ("SPX history", "INDEX_DATA"),
        ("inflation in the USA", "INFLATION"),
        # Names that nothing knows, and the class of a share, are not read by their words.
        ("Bright Horizons news", "NEWS_SENTIMENT"),
        ("Delta Air Lines insider selling", "INSIDER_TRANSACTIONS"),
        ("MSFT.B price", "GLOBAL_QUOTE"),
        # What is not wanted hardly counts.
        ("north sea crude instead of WTI", "BRENT"),
        ("silver price right now, no history", "GOLD_SILVER_SPOT"),
        ("ethereum prices not per day but per month", "DIGITAL_CURRENCY_MONTHLY"),
        ("I do not know the ticker of Bayer", "SYMBOL_SEARCH"),
        ("not the inflation", "INFLATION"),
    ],
)
def test_the_expected_tool_is_the_first_hit(catalog: Catalog, query: str, name: str) -> None:
    assert best_name(catalog, query) == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Bilanz von Siemens", "BALANCE_SHEET"),
        ("Arbeitslosenquote", "UNEMPLOYMENT"),
        ("taux de change", "CURRENCY_EXCHANGE_RATE"),
        ("precio del trigo", "WHEAT"),
        ("prossimi collocamenti", "IPO_CALENDAR"),
        ("скользящая средняя", "SMA"),
        ("बेरोजगारी", "UNEMPLOYMENT"),
        ("失業率", "UNEMPLOYMENT"),
        ("微软的资产负债表", "BALANCE_SHEET"),
        ("ソニーのMACDを見たい", "MACD"),
        ("قمح", "WHEAT"),
        ("옥수수 가격", "CORN"),
        ("cours de l'action Renault maintenant", "GLOBAL_QUOTE"),
        ("Inflation in den USA", "INFLATION"),
        ("kurs złotego do dolara", "CURRENCY_EXCHANGE_RATE"),
    ],
)
def test_queries_in_other_languages_find_the_tool(catalog: Catalog, query: str, name: str) -> None:
    assert name in found(catalog, query, 3)


@pytest.mark.parametrize(
    "query",
    [
        "book me a flight",
        "recipe for pasta with tomatoes",
        "write a python function that sorts a list",
        "will it rain tomorrow afternoon",
    ],
)
def test_a_query_that_no_tool_fits_has_no_hits(catalog: Catalog, query: str) -> None:
    assert search(catalog, query) == SearchResult((), 0)


@pytest.mark.parametrize(
    ("query", "fit"),
    [
        ("inflation in Germany", Fit.WEAK),
        ("US and German bond yields", Fit.WEAK),
        ("top gainers in India", Fit.WEAK),
        ("inflation", Fit.SURE),
        ("us unemployment rate", Fit.SURE),
        ("japanese yen exchange rate", Fit.SURE),
        ("Volkswagen balance sheet in Germany", Fit.SURE),
    ],
)
def test_a_tool_of_one_country_fits_requests_for_another_weakly(catalog: Catalog, query: str, fit: Fit) -> None:
    assert search(catalog, query).fit is fit


@pytest.mark.parametrize(
    ("query", "fit"),
    [
        ("buy 10 shares of Tesla", Fit.WEAK),
        ("I want to place an order for 5 Apple shares at the market price", Fit.WEAK),
        ("can you delete the dividends", Fit.WEAK),
        ("did insiders buy shares of Tesla", Fit.SURE),
        ("send me the insider trades of Tesla", Fit.SURE),
        ("put call ratio of SPY", Fit.SURE),
        ("book value of Apple", Fit.SURE),
        ("schedule of earnings for IBM", Fit.SURE),
        ("order Apple stock", Fit.WEAK),
        ("how do I fix a coffee machine", Fit.WEAK),
    ],
)
def test_tools_that_only_read_fit_requests_for_a_change_weakly(catalog: Catalog, query: str, fit: Fit) -> None:
    assert search(catalog, query).fit is fit


@pytest.mark.parametrize(
    "query",
    [
        "translate this letter into french",
        "who won the match last night",
        "price",
        "stock",
        "umbrella stock",
        "steel news",
        "the same for Adobe then",
    ],
)
def test_a_query_that_hardly_fits_has_the_nearest_tools(catalog: Catalog, query: str) -> None:
    found = search(catalog, query)
    assert found.fit is Fit.WEAK
    assert 1 <= len(found.hits) <= MEASURED_TOOLS
    assert search(catalog, query, is_whole=True).hits[: len(found.hits)] == found.hits


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("US gdp and unemployment", "UNEMPLOYMENT"),
        ("compare inflation and interest rates", "INFLATION"),
        ("us economy", "REAL_GDP"),
        ("give me aapl price", "GLOBAL_QUOTE"),
        ("AAPL", "GLOBAL_QUOTE"),
        ("economy", "REAL_GDP"),
        ("alpha vantage news", "NEWS_SENTIMENT"),
        ("alpha vantage", "TIME_SERIES_DAILY"),
    ],
)
def test_words_of_the_catalog_are_never_answered_with_nothing(catalog: Catalog, query: str, name: str) -> None:
    assert name in found(catalog, query, 3)


def test_words_of_another_topic_beside_it_hide_no_tool(catalog: Catalog) -> None:
    assert best_name(catalog, "top gainers among airline and hotel stocks today") == "TOP_GAINERS_LOSERS"
    assert best_name(catalog, "coffee price history for my restaurant") == "COFFEE"


def test_top_ties_counts_the_hits_close_to_the_best(catalog: Catalog) -> None:
    assert search(catalog, "balance sheet").top_ties == 1
    assert search(catalog, "RSI and MACD of Apple").top_ties == 2
    assert 1 <= search(catalog, "price").top_ties <= 5


def test_candidates_restrict_the_hits(catalog: Catalog) -> None:
    positions = set(catalog.positions("category", "forex"))
    hits = search(catalog, "daily prices", positions).hits
    assert hits
    assert {hit.position for hit in hits} <= positions


@pytest.mark.bulk
@pytest.mark.parametrize("query", ["price " * 2000, "x" * 10_000, "株" * 10_000, "\x00\x1b[31m price", "' OR 1=1 --"])
def test_a_hostile_query_is_answered_at_once(catalog: Catalog, query: str) -> None:
    with cpu_within(5):
        search(catalog, query)


@pytest.mark.parametrize("query", ["", "   ", "the of and", "xqvq zzkz", "123456", "?!"])
def test_a_query_without_known_words_has_no_hits(catalog: Catalog, query: str) -> None:
    assert found(catalog, query) == []


def test_closest_names_are_found_by_spelling_and_by_words(catalog: Catalog) -> None:
    assert closest_names(catalog, "GLOBAL_QUOT") == ["GLOBAL_QUOTE"]
    assert "BALANCE_SHEET" in closest_names(catalog, "SHEET_OF_BALANCES")
    assert closest_names(catalog, "XQVQ" * 100) == []


def test_rare_words_and_important_fields_have_higher_weights() -> None:
    built = search_index.build([{"name": ["alpha"], "description": ["beta gamma"]}, {"description": ["alpha gamma"]}])
    (_, in_name, _, in_description), (_, alone) = built["alpha"], built["beta"]
    assert in_name > in_description
    assert alone > in_description == built["gamma"][1]


def test_every_tool_of_alpha_vantage_has_aliases_and_8_to_20_example_queries() -> None:
    for category in CATEGORIES:
        for tool in yaml_loader.load(FOLDER / "alpha_vantage" / f"{category}.yaml").data["tools"]:
            assert 8 <= len(tool["example_queries"]) <= 20, tool["name"]
            assert len(set(tool["example_queries"])) == len(tool["example_queries"]), tool["name"]
            assert tool["aliases"], tool["name"]
