"""Cursors of tools/list: those that a page has returned are accepted, and no others."""

from hypothesis import given
from hypothesis import strategies as st

from toolfold.exposure.exposed_tools import PAGE_SIZE, decode_cursor, list_id

LIST = list_id("catalog", "default", "direct")


@given(st.integers(1, 50), st.integers(1, 5000))
def test_cursor_of_a_page_leads_to_it(page: int, entries: int) -> None:
    offset = page * PAGE_SIZE
    found = decode_cursor(f"{LIST}.{offset}", LIST, entries)
    assert found == (offset if offset < entries else None)


@given(
    st.one_of(
        st.text(),
        st.integers(),
        st.none(),
        st.lists(st.text()),
        st.builds(lambda digits: f"{LIST}.{digits}", st.text("0123456789+-_ ", max_size=12)),
    )
)
def test_no_other_value_is_a_cursor(cursor: object) -> None:
    found = decode_cursor(cursor, LIST, 450)
    assert found is None or (found in (100, 200, 300, 400) and cursor == f"{LIST}.{found}")


@given(st.text(), st.text(), st.text())
def test_cursor_of_another_catalog_profile_or_mode_is_foreign(catalog: str, profile: str, mode: str) -> None:
    other = list_id(catalog, profile, mode)
    assert (other == LIST) == ((catalog, profile, mode) == ("catalog", "default", "direct"))
    assert decode_cursor(f"{other}.100", LIST, 450) == (100 if other == LIST else None)
