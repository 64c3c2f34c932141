"""Names of imported tools: one-to-one, stable, and words of a scripting language."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.build.relations import assign_names, safe_name
from toolfold.catalog.entries import name_key

SOURCES = st.sampled_from(["time", "git", "a", "a__b", "s" * 32])
ORIGINALS = st.lists(
    st.tuples(
        SOURCES, st.text(min_size=1, max_size=90) | st.sampled_from(["x", "X", "x-", "x.", "b__c", "c", "import"])
    ),
    unique=True,
    max_size=12,
)


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("get_time", "time__get_time"),
        ("get-time", "time__get_time"),
        ("get.time/now", "time__get_time_now"),
        ("2fa", "time___2fa"),
        ("import", "time__import_"),
        ("Match", "time__Match_"),
        ("süß", "time__s_"),
    ],
)
def test_a_tool_is_named_after_its_source(original: str, name: str) -> None:
    assert assign_names([("time", original)]) == {("time", original): name}


def test_every_member_of_a_collision_has_the_hash_of_its_own_name() -> None:
    names = assign_names([("s", "get-user"), ("s", "get.user"), ("s", "other")])
    assert names == {
        ("s", "get-user"): "s__get_user_5d95c2",
        ("s", "get.user"): "s__get_user_9c0265",
        ("s", "other"): "s__other",
    }


def test_a_name_of_which_no_letter_is_left_has_a_hash() -> None:
    assert assign_names([("s", "日本"), ("s", "---")]) == {("s", "日本"): "s_____cf2abf", ("s", "---"): "s_____cb3f91"}


def test_a_name_that_another_source_keeps_is_not_taken() -> None:
    assert assign_names([("s", "x")], taken=["S__X"])[("s", "x")].startswith("s__x_")


@given(ORIGINALS, st.randoms(use_true_random=False))
def test_names_are_one_to_one_and_do_not_depend_on_the_order(
    originals: list[tuple[str, str]], order: random.Random
) -> None:
    names = assign_names(originals, taken=["KEPT"], reserved=["TOOL_LIST"])
    shuffled = list(originals)
    order.shuffle(shuffled)
    assert assign_names(shuffled, taken=["KEPT"], reserved=["TOOL_LIST"]) == names
    keys = [name_key(name) for name in names.values()]
    assert len(set(keys)) == len(keys) == len(originals)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) for name in names.values())


@given(st.text(max_size=80))
def test_a_safe_name_is_a_word_of_python(text: str) -> None:
    name = safe_name(text)
    assert name.isidentifier()
    assert name.isascii()
