"""Counting tokens without a tokenizer, compared with the o200k vocabulary: every bound that the module states."""

import json
from urllib.request import urlopen

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within
from tests.unit.catalog.test_alpha_vantage_catalog import EXPECTED
from toolfold.catalog.model import Catalog
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api.server import MockApi
from toolfold.results import tokens

MAX_ENTRY_EXCESS = 0.15, 6
"""On answers of TOOL_GET and TOOL_LIST, on schemas and on the definitions of the meta-tools, a count is never below the
real one, and above it by at most this share plus this number of tokens; the median is 6 %."""


MAX_ANSWER_ERROR = 0.10, 0.30
"""On answers, CSV or compact JSON, a count is below the real one by at most the first share, above by at most the
second; the median is 5 % above."""

MAX_SCRIPT_SHORTFALL = 0.15
"""On prose in other languages and scripts a count is below the real one by at most this share. Above it can be far:
some three times as many."""

CLIP = 12_000
"""Characters of an answer that are counted: its rows repeat, and the real tokenizer is slow."""

PROSE = {
    "German": "Der Schlusskurs der Aktie lag gestern über dem gleitenden Durchschnitt, trotz größerer Verluste.",
    "Polish": "Kurs zamknięcia był wczoraj powyżej średniej kroczącej, choć spółka zapowiedziała niższe zyski.",
    "Vietnamese": "Giá đóng cửa hôm qua cao hơn đường trung bình động, trong khi lợi nhuận thấp hơn dự kiến.",
    "Russian": "Вчера цена закрытия была выше скользящей средней, хотя компания объявила о низкой прибыли.",
    "Arabic": "كان سعر الإغلاق أمس أعلى من المتوسط المتحرك، رغم أن الشركة أعلنت أرباحا أقل.",
    "Hindi": "कल बंद भाव चल औसत से ऊपर था, हालाँकि कंपनी ने उम्मीद से कम मुनाफा बताया।",
    "Thai": "ราคาปิดเมื่อวานสูงกว่าค่าเฉลี่ยเคลื่อนที่ แม้บริษัทประกาศกำไรต่ำกว่าที่คาดไว้",
    "Georgian": "გუშინ დახურვის ფასი მცოცავ საშუალოზე მაღალი იყო, თუმცა მოგება ნაკლებია.",
    "Chinese": "昨日收盘价高于移动平均线，尽管公司公布的利润低于预期。",
    "Japanese": "昨日の終値は移動平均線を上回ったが、会社は予想より低い利益を発表した。",
    "Korean": "어제 종가는 이동평균선보다 높았지만 회사는 예상보다 낮은 이익을 발표했다.",
    "Khmer": "តម្លៃបិទកាលពីម្សិលមិញខ្ពស់ជាងមធ្យមភាគរំកិល។",
    "emoji": "📈 up 🚀🚀 down 📉 😀👍🏽 👩‍👩‍👧 🇩🇪 ✅",
    "signs": "∑ α·β ≤ √x → ∞, 𝒜 ≈ ½ · π r², ±0.5 %, 10 €",
}

encode = bpe_openai.get_encoding("o200k_base").encode


def real(text: str) -> int:
    return len(encode(text))


def assert_entry(what: str, text: str) -> None:
    share, more = MAX_ENTRY_EXCESS
    there, counted = real(text), tokens.count(text)
    assert there <= counted <= there * (1 + share) + more, (what, there, counted)


def test_an_entry_of_the_catalog_is_never_undercounted(catalog: Catalog, tools: MetaTools) -> None:
    for name in catalog:
        shown = tools.call("TOOL_GET", {"tool_name": name})
        tool = catalog.get(name)
        schema = {"name": name, "description": f"{tool.summary}. {tool.description}", "parameters": tool.parameters}
        assert_entry(name, shown.text)
        assert_entry(f"{name}, indented", json.dumps(json.loads(shown.text), indent=2, ensure_ascii=False))
        assert_entry(f"{name}, schema", dumps_compact(schema))
    names = list(catalog)
    for start in range(0, len(names), 20):
        assert_entry(names[start], tools.call("TOOL_GET", {"tool_name": names[start : start + 20]}).text)


def test_the_listing_and_the_definitions_are_never_undercounted(tools: MetaTools) -> None:
    listed = tools.call("TOOL_LIST", {})
    assert_entry("listing", listed.text)
    assert_entry("listing as JSON", dumps_compact(listed.structured))
    assert_entry("definitions", tools.list_page().tools.decode())
    for definition in json.loads(tools.list_page().tools):
        assert_entry(definition["name"], dumps_compact(definition))


@pytest.mark.slow
def test_answers_of_every_tool_are_counted_within_the_stated_bound(mock_api: MockApi, catalog: Catalog) -> None:
    under, over = MAX_ANSWER_ERROR
    ratios = []
    for number, (name, query) in enumerate(EXPECTED.items()):
        tool = catalog.get(name)
        # One format of each tool, in turn: similar tools have similar answers, and the longest take time to generate.
        form = tool.formats[number % len(tool.formats)]
        asked = [pair for pair in query.split("&") if not pair.startswith("datatype=")]
        with urlopen(f"{mock_api.url}?{'&'.join(asked)}&datatype={form}&apikey=mock-key") as response:
            text = response.read().decode()
        text = (text if form == "csv" else dumps_compact(json.loads(text)))[:CLIP]
        there, counted = real(text), tokens.count(text)
        assert there * (1 - under) <= counted <= there * (1 + over), (name, form, there, counted)
        ratios.append(counted / there)
    assert len(ratios) == len(catalog)
    assert 1 <= sorted(ratios)[len(ratios) // 2] < 1.08


@pytest.mark.parametrize("language", PROSE)
def test_other_scripts_are_undercounted_within_the_stated_bound(language: str) -> None:
    there, counted = real(PROSE[language]), tokens.count(PROSE[language])
    assert there * (1 - MAX_SCRIPT_SHORTFALL) <= counted <= 3 * there


def test_only_empty_text_has_no_tokens() -> None:
    assert tokens.count("") == 0
    for text in ("a", " ", "\n", "\0", "é", "昨", "😀", "\ud800", "IBM", "1"):
        assert tokens.count(text) >= 1


@given(st.text(), st.text())
def test_counts_of_lines_add_up(one: str, other: str) -> None:
    # At the seam a piece may be cut otherwise, and the twentieth of either is rounded.
    apart = tokens.count(one) + tokens.count(other)
    assert abs(tokens.count(one + other) - apart) <= 4


@given(st.text(max_size=300))
def test_a_count_is_never_more_than_two_for_a_character(text: str) -> None:
    assert 0 <= tokens.count(text) <= 2 * len(text) * (1 + 1 / tokens.MARGIN)


@pytest.mark.bulk
@pytest.mark.parametrize(
    "unit", ["2026-01-13,187.2100,188.0000\n", '{"open":"1.5"},', "a", " ", "\n", " \n", '"', "A_"]
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000]
    tokens.count(text[:1000])
    with cpu_within(10):  # a tenth of a second; an expression that backtracks over all of it takes minutes
        tokens.count(text)
