"""Texts of answers that are numbers in another form, or look like numbers."""

import json

import pytest

from tests.unit.results.select.cases import Case, check, column, csv, each
from tests.unit.results.select.outcomes import run

NUMBERS = [
    *(Case("a decimal comma", csv("v,w", "0.5,1", "0.1,2", "1234.5,3"), select, f"sum(w): {right}",
           says=(f'Write "{form}',))
      for select, form, right in (
          ("v > 0,125; sum(w)", "v > 0.125;", 4), ("v = ,5; sum(w)", "v = 0.5;", 1),
          ("v between 0,1 and 0,6; sum(w)", "v between 0.1 and 0.6;", 3), ("v < 1.234,6; sum(w)", "v < 1234.6;", 6))),
    Case("a decimal comma", csv("v,w", "0.5,1", "0.1,2"), "SELECT w FROM data WHERE v > 0,125", "w: 1",
         says=('Write "SELECT w FROM data WHERE v > 0.125"',)),
    Case("separators, max", column("1,234.5", "12,000", "999"), "max(v)", "max(v): 12000"),
    Case("separators, order", column("1,234.5", "12,000", "999"), "order by v", "v: 999 / 1,234.5 / 12,000"),
    Case("separators, condition", column("1,234.5", "12,000", "999"), "v > 1,000; count", "count: 2"),
    Case("separators, SQL", column("1,234.5", "12,000", "999"), "SELECT sum(v) AS m FROM data", "m: 14233.5"),
    Case("apostrophes", column("1'234", "999", "12'000"), "max(v)", "max(v): 12000", otherwise=("1'234",)),
    Case("blanks", column("1 234", "999", "12 000"), "max(v)", "max(v): 12000", otherwise=("1 234",)),
    Case("blanks that do not break", column("1\u00a0234", "999"), "max(v)", "max(v): 1234",
         otherwise=("1\u00a0234",)),
    Case("prices with and without a zero", column("12.5", "12.50", "9.05"), "max(v)", "max(v): 12.5"),
    Case("prices in a currency", column("$12.5", "$12.50", "$9.5"), "sum(v)", "sum(v): 34.5"),
    Case("numbers that may be versions", column("12.5", "12.50", "9.5"), "sum(v)", says=("CAST(v AS REAL) reads",)),
    Case("equal numbers that may be versions", column("12.5", "12.50", "9.5"), "v = 12.5; count", "count: 1",
         says=("v is compared as text; CAST(v AS REAL)",)),
    Case("equal numbers", column("12.5", "12.50", "9.5"), "CAST(v AS REAL) = 12.5; count", "count: 2"),
    Case("a date that is true", column("2024-01-01", "2024-01-02"), "v is true", says=("neither true nor false",)),
    *(Case("an item of no list", json.dumps([{"c": [1]}, {"c": []}]), f"c[{sign}{'9' * 20}]",
         f"json_extract(c, '$[{path}{'9' * 20}]'):  / ") for sign, path in (("", ""), ("-", "#-"))),
    Case("versions as numbers", column("12.5", "12.50", "9.5"), "sum(CAST(v AS REAL))", "sum(CAST(v AS REAL)): 34.5"),
    Case("units as numbers", column("5%", "0.5"), "sum(CAST(v AS REAL))", says=("is no number",)),
    *(Case("a number of a text", column("5 kg", "12 kg"), f"{name}(v)",
         f"{name}(CAST(replace(v, ' kg', '') AS REAL)): {right}")
      for name, right in (("round", "5 / 12"), ("sign", "1 / 1"))),
    Case("a number of a date", column("2024-01-01", "2024-01-02"), "round(v)", says=("v is a date",)),
    Case("decimal commas", column("1.234,5", "999"), "max(v)", "max(v): 1234.5", otherwise=("1.234,5",)),
    Case("minus sign", column("\u22125", "3", "\u22121"), "min(v)", "min(v): -5"),
    Case("negative in parentheses", column("(1,234)", "12", "7"), "min(v)", "min(v): -1234", otherwise=("(1,234)",)),
    Case("dollars", column("$99.00", "$1,250.50", "$7"), "max(v)", "max(v): 1250.5"),
    Case("two currencies", column("$99", "€120", "$7"), "max(v)", says=("€120",)),
    Case("two currencies, sum", column("£5", "$6"), "sum(v)", says=("$6",)),
    Case("magnitudes", column("1.5M", "900K", "2B"), "max(v)", "max(v): 2000000000"),
    Case("magnitudes in a condition", column("1.5M", "900K", "2B"), "v > 1M; count", "count: 2"),
    Case("percent", column("5%", "7.5%", "12%"), "v > 10%; count", "count: 1"),
    Case("percent, largest", column("5%", "7.5%", "12%"), "top 1 by v", "v_percent: 12"),
    Case("percent beside fractions", column("5%", "0.5", "12%"), "v > 10%", says=("0.5",)),
    Case("percent beside fractions, max", column("5%", "0.05"), "max(v)", says=("0.05",)),
    Case("percent of fractions", csv("name,v", "a,0.05", "b,0.12"), "v > 10%", "= b"),
    Case("text among numbers", column("12", "n.m.", "7"), "max(v)", says=("n.m.",)),
    Case("text among numbers, condition", column("12", "n.m.", "7"), "v > 8", says=("n.m.",)),
    Case("text among numbers, order", column("12", "n.m.", "7"), "order by v", says=("n.m.",)),
    Case("text among numbers, SQL", column("12", "n.m.", "7"), "SELECT sum(v) FROM data", says=("n.m.",)),
    Case("text among numbers, equality", column("12", "n.m.", "7"), "v = n.m.; count", "count: 1"),
    *(Case(f"null as {text!r}", csv("name,v", "a,4", f"b,{text}", "c,8"), "avg(v), count(v)", "avg(v),count(v): 6,2")
      for text in ("", "None", "-")),
    Case("null meets no condition", csv("name,v", "a,4", "b,", "c,8"), "v != 4; count", "count: 1"),
    Case("null meets no negation", csv("name,v", "a,4", "b,", "c,8"), "not v = 4; count", "count: 1"),
    Case("comparison with null", csv("name,v", "a,4", "b,", "c,8"), "v = null", "= b"),
    Case("division of integers", csv("a,b", "7,2", "1,0"), "a / b as r", "r: 3.5 / "),
    Case("division of counts", csv("a,b", "7,2", "1,0"), "sum(a) / count", "sum(a) / count: 4"),
    Case("list with separators", csv("v,w", "1,1", "234,1", "1234,1"), "v in (1,234)", "= 1 234",
         otherwise=("1234",)),
    Case("sum of tenths", column("0.1", "0.2"), "sum(v)", "sum(v): 0.3"),
    Case("exponents", column("1e3", "2.5e2"), "max(v)", "max(v): 1000"),
    Case("leading zeros", csv("code,v", "007,1", "07,2", "7,3"), "code = 007; count", "count: 1"),
    Case("leading zeros, max", csv("code,v", "0100,1", "0020,2"), "max(code)", "max(code): 0100"),
    Case("long identifiers", csv("id,v", "9007199254740993,1", "9007199254740992,2"),
         "id = 9007199254740993; count", "count: 1"),
    Case("long identifiers among short ones", csv("id,v", "9007199254740993,1", "9,2", "10,3"), "min(id)",
         says=("as 9007199254740993 shows",)),
    Case("versions in groups", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "sum(n) by v",
         "v,sum(n): 1.1,1 / 1.10,2 / 1.9,3"),
    Case("powers of ten are no versions", column("1.5e10", "1.5e100"), "max(v)", "max(v): 1.5e+100"),
    Case("a version", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "v = 1.10; n", "n: 2"),
    Case("versions have no order", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "max(v)", says=("not of one kind",)),
    Case("decimal commas", column("2,926", "0,452", "1.600,5"), "max(v)",
         "max(CAST(replace(replace(v, '.', ''), ',', '.') AS REAL)): 1600.5"),
    Case("decimal commas with a unit", column("2,7 kg", "12,5 kg"), "sum(v)",
         "sum(CAST(replace(replace(replace(v, ' kg', ''), '.', ''), ',', '.') AS REAL)): 15.2"),
    Case("units with signs", column("9 km/h", "12 km/h"), "max(v)",
         "max(CAST(replace(v, ' km/h', '') AS REAL)): 12"),
    Case("durations", column("PT1H30M", "PT45M"), "max(v)", says=("not of one kind",)),
    Case("intervals", csv("span,v", "3 days 04:00:00,1", "10 days -01:30:00,2", "1 year 2 mons,3"), "max(span)",
         says=("not of one kind",)),
    Case("numbers in texts, order", csv("id", "A9", "A10", "A2"), "order by id", "id: A10 / A2 / A9",
         says=("A10 is before A2",)),
    Case("numbers in texts, largest", csv("p", "USD 9", "USD 10"), "max(p)", "max(p): USD 9",
         says=("compared as text",)),
    Case("numbers in texts, rank", csv("p,v", "#9,1", "#10,2"), "top 1 by p; v", "v: 1",
         says=("compared as text",)),
    Case("numbers in texts, SQL", csv("p", "week 9", "week 10"), "SELECT p FROM data ORDER BY p DESC LIMIT 1",
         "p: week 9", says=("compared as text",)),
    Case("codes of several lengths", csv("code", "7", "010", "100"), "max(code)", "max(code): 7",
         says=("compared as text",)),
    Case("a URL", csv("url,v", "https://a.test/?b=1&c=2,1", "https://a.test/,2"),
         "url = https://a.test/?b=1&c=2; v", "v: 1"),
    Case("texts of true and false", csv("f,v", "true,1", "false,2"), "jmespath: max_by(rows, &f).v", "1"),
    Case("numbers against a text", csv("name,v", "a,1", "b,2"), "name > 5", says=("name",)),
]  # fmt: skip


@each(NUMBERS)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.version FROM data a JOIN data b ON a.version = b.version",
        "SELECT id FROM data ORDER BY id",
        "order by id",
        "max(name)",
    ],
)
def test_text_that_is_compared_as_meant_has_no_note(select: str) -> None:
    body = csv("version,id,name", "1.1,1234ab,Sun Life", "1.10,12bcde,May Corp", "1.9,9ab0c1,Sat Co")
    assert not run(select, body).notes
