"""Whole calls that once broke the product, and variations of them: what must hold for every call holds."""

import sys

import pytest

from tests.fuzz.whole_call.inputs import CallInput
from tests.fuzz.whole_call.oracles import Judge
from tests.fuzz.whole_call.world import HONEST_KEY
from tests.support.examples import each_tenth

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.usefixtures("operator_key"),
]

CSV = {"datatype": "csv"}
ROW = '{"date":"2024-03-01","value":"81.5","note":"xxxxxxxx"}'
ROWS = ('{"data":[', {"repeat": ROW, "times": 1500, "join": ","}, "]}")

# R3
MULTIPLYING_SELECTS = (
    "join(to_string(@), data[*].date)",
    f"length(to_string([{','.join(['@'] * 28)}]))",
    "data[*].[to_string(@),to_string(@),to_string(@)]",
    "join(join(to_string(data), data[*].date), data[*].date)",
    "data[*].{a:@,b:@,c:@,d:@} | [*].{a:@,b:@,c:@,d:@} | [*].{a:@,b:@}",
    "sort_by(data, &join(to_string(@), ['a', 'b']))",
)

FAST = ("nested to the limit", "a negative number beyond a double")
"""``make test-slow`` has the others: each takes up to a second."""

WIDE_ANSWERS = {
    # R6
    "objects with disjoint keys": CallInput(
        body=('{"data":[', {"repeat": '{"k{i}":1}', "times": 5000, "join": ","}, "]}")
    ),
    "nested disjoint keys": CallInput(
        body=('{"data":[', {"repeat": '{"a":{"k{i}":{"z{i}":1}}}', "times": 5000, "join": ","}, "]}")
    ),
    "ragged csv": CallInput(
        arguments=CSV,
        body=("timestamp,value\n", {"repeat": "2024-03-01,1\n", "times": 5000}, {"repeat": ",", "times": 5000}, "1\n"),
    ),
    "many series": CallInput(
        body=("{", {"repeat": '"s{i}":[{"date":"2024-03-01","value":1}]', "times": 5000, "join": ","}, "}")
    ),
    # R7
    "keys with ordinals": CallInput(body=("{", {"repeat": '"{i}. a":1', "times": 15000, "join": ","}, "}")),
    "keys that take each other's numbers": CallInput(
        body=("{", {"repeat": '"{i}. a_2":1,"{i}: a":2,"a_{i}":3', "times": 6000, "join": ","}, "}")
    ),
    "columns with ordinals": CallInput(
        body=('{"data":[{', {"repeat": '"a {i}{i}":"1%"', "times": 6000, "join": ","}, "}]}")
    ),
    # R8
    "nested to the limit": CallInput(body=({"repeat": "[", "times": 900}, "1", {"repeat": "]", "times": 900})),
    "lists of lists": CallInput(body=("[", {"repeat": "[1,2,[3]]", "times": 40000, "join": ","}, "]")),
    # R15
    "a number beyond a double": CallInput(arguments={"datatype": "json"}, body=('{"value":1e999}',)),
    "a negative number beyond a double": CallInput(body=('[[-1e999,{"a":NaN}]]',)),
}


@pytest.mark.parametrize("expression", each_tenth(MULTIPLYING_SELECTS))
def test_a_select_that_multiplies_the_answer_keeps_the_budget(judge: Judge, expression: str) -> None:
    judge.check(CallInput(options={"select": f"jmespath: {expression}"}, body=ROWS))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in WIDE_ANSWERS]
)
def test_an_answer_that_is_hard_to_shape_keeps_the_budget(judge: Judge, name: str) -> None:
    judge.check(WIDE_ANSWERS[name])


@pytest.mark.parametrize("failure", ["", '{"data":[{"date":'])
def test_failures_under_many_keys_pause_no_other_call(judge: Judge, failure: str) -> None:
    world = judge.world
    world.reset()
    world.upstream.current = CallInput(status="200 OK", body=(failure,))
    for number in range(12):
        assert world.call(CallInput(), f"ATTACKER{number:08}").code != "OK"
    assert world.call(CallInput(), HONEST_KEY, fixed=True).code == "OK"
    assert world.call(CallInput(), "", fixed=True).code == "OK"
