"""The pointer: what it records, who may replace it, and content that is not a pointer."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.support.catalogs import sha256_of, small_catalog
from toolfold.build.catalog_bucket import Author, Pointer, Writer, parse_pointer, point_to

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
A, B = small_catalog("A"), small_catalog("B")


def pointer(content: bytes, former: Pointer | None = None, **options: object) -> Pointer:
    given = {"writer": Writer.TERMINAL, "published_by": "anna", "now": NOW} | options
    author = Author(given.pop("writer"), given.pop("published_by"))  # type: ignore[arg-type]
    return point_to(content, 1, author, former=former, **given)  # type: ignore[arg-type]


def test_it_records_who_when_how_many_tools_and_what_was_before() -> None:
    written = json.loads(pointer(B, pointer(A)).to_json())

    assert list(written)[:3] == ["sha256", "bytes", "head"]
    assert written["sha256"] == sha256_of(B)
    assert (written["published_at"], written["published_by"]) == ("2026-01-02T03:04:05Z", "anna")
    assert (written["writer"], written["tools"], written["previous"]) == ("terminal", 1, sha256_of(A))


def test_it_is_read_back_as_it_was_written() -> None:
    first = pointer(A, writer=Writer.SCHEDULE)
    for written in (first, pointer(B, first), pointer(B, first, automatic=True)):
        assert parse_pointer(written.to_json().encode()) == written


@pytest.mark.parametrize(
    "content",
    [b"", b"nope", b"[]", b"{}", b"[" * 100_000, b'{"sha256": 7}', b'{"sha256": "../../x", "bytes": 1, "head": {}}'],
)
def test_other_content_is_no_pointer(content: bytes) -> None:
    assert parse_pointer(content) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"writer": "nobody"},
        {"tools": None},
        {"published_at": ...},
        {"head": {"bytes": 0, "sha256": "a" * 64}},
        {"head": {"bytes": 9, "sha256": "A" * 64}},
    ],
)
def test_a_pointer_with_a_damaged_member_cannot_be_read(damage: dict[str, object]) -> None:
    values = json.loads(pointer(B, pointer(A)).to_json()) | damage
    kept = {name: value for name, value in values.items() if value is not ...}
    assert parse_pointer(json.dumps(kept).encode()) is None


def test_times_are_utc_and_control_characters_of_a_name_are_dropped() -> None:
    local = datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    made = pointer(A, now=local, published_by="anna\n\x1b[2J")
    assert (made.published_at, made.published_by) == ("2026-01-02T03:04:05Z", "anna[2J")


def test_the_schedule_does_not_replace_what_a_person_published() -> None:
    of_person, of_schedule = pointer(A), pointer(A, writer=Writer.SCHEDULE)
    assert not of_person.may_be_replaced_by(Writer.SCHEDULE)
    assert pointer(A, automatic=True).may_be_replaced_by(Writer.SCHEDULE)
    assert of_schedule.may_be_replaced_by(Writer.SCHEDULE)
    assert of_person.may_be_replaced_by(Writer.TERMINAL)


def test_the_time_of_the_check_is_kept_only_where_a_schedule_checks() -> None:
    assert pointer(A).checked_at == ""
    scheduled = pointer(A, writer=Writer.SCHEDULE)
    assert scheduled.checked_at == "2026-01-02T03:04:05Z"
    assert pointer(B, scheduled, now=NOW + timedelta(hours=1)).checked_at == "2026-01-02T04:04:05Z"
