"""Whole calls in every test run: the corpus of the fuzzer, some random calls, and what the fuzzer must find."""

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.whole_call import oracles, upstream
from tests.fuzz.whole_call.generate import calls, load_samples
from tests.fuzz.whole_call.inputs import ENCODINGS, WORDS, CallInput, corpus
from tests.fuzz.whole_call.oracles import Finding, Judge
from tests.support.examples import examples
from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold.redaction import Redactor

CORPUS = corpus()


def _table(rows: list[list[Any]]) -> dict[str, Any]:
    return {"columns": ["date", "value"], "rows": rows, "row_count": len(rows)}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.usefixtures("operator_key"),
]


@pytest.mark.parametrize("name", CORPUS)
def test_no_input_of_the_corpus_violates_anything(judge: Judge, name: str) -> None:
    judge.check(CORPUS[name])


@examples(60, many=20_000, slow_to_make=True)
@given(st.deferred(lambda: calls(EXAMPLES, load_samples())))
def test_random_calls_violate_nothing(judge: Judge, sent: CallInput) -> None:
    judge.check(sent)


TWO_CALLERS = st.builds(
    CallInput,
    key=st.one_of(
        st.sampled_from([key for key in WORDS["keys"] if key.isprintable()]),
        st.text("ABCab01/+=%\"'\\,.-", min_size=1, max_size=24),
        st.sampled_from(["name", "2024-03-02", '"value": "80"', "data", "80", "timestamp,value", "81.5\n2"]),
    ),
    carrier=st.sampled_from(["bearer", "x-api-key", "query"]),
    transport=st.sampled_from(["event", "http"]),
    tool=st.sampled_from(["WTI", "CPI", "TREASURY_YIELD"]),
    arguments=st.sampled_from([{}, {"datatype": "csv"}, {"datatype": "json"}]),
    options=st.sampled_from(
        [{}, {}, {"fresh": True}, {"select": "last 1"}, {"select": "jmespath: @"}, {"max_tokens": 1}]
    ),
    times=st.sampled_from([1, 1, 6]),
    served_to=st.sampled_from(["all", "caller"]),
    status=st.sampled_from(["200 OK", "200 OK", "429 Slow down", "503 Unavailable", "500 Error"]),
    body=st.tuples(
        st.one_of(
            st.sampled_from([upstream.ORDINARY_JSON.decode(), upstream.ORDINARY_CSV.decode(), "", "{", "<html>"]),
            st.sampled_from(WORDS["notices"]).map(lambda text: f'{{"Information": "{text}"}}'),
            st.sampled_from(sorted(ENCODINGS)).map(
                lambda name: f'{{"name":"<<{name}>>","data":[{{"a <<{name}>>":1}}]}}'
            ),
            st.sampled_from(sorted(ENCODINGS)).map(
                lambda name: f"timestamp,value\n2024-03-01,<<{name}>>\n2024-02-01,1\n"
            ),
        )
    ),
)


@examples(80, many=20_000)
@given(TWO_CALLERS)
# R1
# R2
def test_a_caller_changes_no_answer_of_another(judge: Judge, sent: CallInput) -> None:
    judge.check(sent)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_equal_calls_at_the_same_time_share_no_key(judge: Judge, encoding: str) -> None:
    body = f'{{"name":"<<{encoding}>>","data":[{{"date":"2024-03-01","value":"81.5"}}]}}'
    judge.check_at_once(CallInput(body=(body,)))


class TestWhatTheFuzzerFinds:
    def test_a_changed_answer_of_another_call(self, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(upstream, "FIXED_BODY", upstream.FIXED_BODY.replace(b"81.5", b"81.6"))
        with pytest.raises(Finding, match="another call of another caller is answered differently"):
            judge.check(CallInput(body=(upstream.ORDINARY_JSON.decode(),)))

    @pytest.mark.parametrize("encoding", sorted(set(ENCODINGS) - {"hex"}))
    def test_a_key_in_an_answer(self, judge: Judge, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
        for name in ("redact_text", "redact_value"):
            monkeypatch.setattr(Redactor, name, lambda _self, value: value)
        with pytest.raises(Finding, match="key is in an answer"):
            judge.check(CallInput(body=(f'{{"name":"<<{encoding}>>","data":[1]}}',)))

    def test_an_exception(self, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("toolfold.results.output.render_document", lambda *_, **__: 1 / 0)
        with pytest.raises(Finding, match="INTERNAL_ERROR ZeroDivisionError"):
            judge.check(CallInput(body=(upstream.ORDINARY_JSON.decode(),)))

    def test_a_call_beyond_its_deadline(self, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracles, "MAX_CPU_S", 1e-9)
        with pytest.raises(Finding, match="longer than its deadline"):
            judge.check(CallInput(body=(upstream.ORDINARY_JSON.decode(),)))

    def test_too_many_tokens(self, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracles, "MIN_TOKENS", 1)
        body = '{"data":[{"date":"2024-03-01","value":"81.5"},{"date":"2024-02-01","value":"81.5"}]}'
        with pytest.raises(Finding, match="more tokens than allowed"):
            judge.check(CallInput(body=(body,), options={"max_tokens": 1}))

    @pytest.mark.parametrize(
        ("text", "structured"),
        [
            ("date,value\n2024,1", {"result": _table([["2024", 2]])}),
            ("date,value\n2024,1\n2024,1", {"result": _table([["2024", 1]])}),
            ("# Preview: x\ndate,value\n2024,1", {"result": _table([["2024", 1]])}),
            ("# x\ndate,value\n2024,1", {"result": _table([["2024", 1]])}),
            ('{"a":1}', {"result": {"a": 2}}),
            ("date,value\n2024,\x1b[2J", {"result": _table([["2024", "\x1b[2J"]])}),
        ],
    )
    def test_a_text_that_disagrees(self, text: str, structured: dict[str, Any]) -> None:
        assert oracles.disagreement(text, {**structured, "age_s": 0})
