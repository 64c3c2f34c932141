"""Dates and times of answers, and periods of ``select``."""

from tests.unit.results.select.cases import DAILY, MONTHLY, Case, check, csv, dated, each

DATES = [
    *(Case(f"dates as {rows[0]}", csv("day,v", *(f'"{day}",{index}' for index, day in enumerate(rows))),
         "last 1; v", right)
      for rows, right in (
          (("02/15/2024", "11/30/2023", "03/01/2023"), "day,v: 02/15/2024,0"),
          (("15.02.2024", "30.11.2023"), "day,v: 15.02.2024,0"),
          (("Feb 15, 2024", "Nov 30, 2023", "Mar 1, 2023"), "day,v: Feb 15, 2024,0"),
          (("20240215", "20231130"), "day,v: 20240215,0"),
          (("2024Q1", "2023Q4"), "day,v: 2024Q1,0"),
      )),
    Case("dates that can be two", csv("day,v", "01/02/2024,1", "03/04/2024,2"), "since 2024-03",
         says=("01/02/2024",)),
    Case("dates that can be two, last", csv("day,v", "05/02/2024,1", "04/03/2024,2"), "last 1", says=("date",)),
    Case("years of two digits", csv("day,v", "12/31/24,1", "01/15/25,2"), "last 1", "= 01/15/25",
         otherwise=("12/31/24", "date")),
    Case("years of two digits, since", csv("day,v", "12/31/24,1", "01/15/25,2"), "since 2025", "= 01/15/25",
         otherwise=("12/31/24", "date")),
    Case("seconds since 1970", csv("t,v", "1736899200,1", "1705276800,2"), "since 2025", says=("date",)),
    Case("dates beside a text", csv("date,v", "2026-01-13,1", "pending,2"), "last 1", says=("pending",)),
    Case("dates beside a text, since", csv("date,v", "2026-01-13,1", "TBD,2"), "since 2026", says=("TBD",)),
    Case("a date that does not exist", csv("date,v", "2026-01-13,1", "2026-02-30,2"), "last 1", says=("2026-02-30",)),
    Case("instants", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2",
         "2026-01-13T03:00:00+09:00,3"), "latest; v",
         "t,v: 2026-01-12T23:30:00-05:00,1"),
    Case("instants in order", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2",
         "2026-01-13T03:00:00+09:00,3"),
         "order by t desc; * except t", "v: 1 / 2 / 3"),
    Case("latest instant by max", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2"), "max(t)",
         "t,max(t): 2026-01-12T23:30:00-05:00,2026-01-13T04:30:00"),
    Case("instants beside local times", csv("t,v", "2026-01-13T01:00:00Z,1", "2026-01-12T23:30:00,2"), "latest",
         says=("2026-01-12T23:30:00",)),
    Case("a day of a column of times", csv("t,v", "2026-01-13 16:00,1", "2026-01-13 09:30,2", "2026-01-12 16:00,3"),
         "t <= 2026-01-12; count", "count: 1"),
    Case("a day is the whole day", csv("t,v", "2026-01-13 16:00,1", "2026-01-13 09:30,2", "2026-01-12 16:00,3"),
         "2026-01-13; count", "count: 2"),
    Case("a date is not arithmetic", DAILY, "date >= 2026-01-12; count", "count: 2"),
    Case("after a month", MONTHLY, "date > 2025-10; count", "count: 2"),
    Case("until a month", MONTHLY, "date <= 2024-02; count", "count: 2"),
    Case("a quarter", MONTHLY, "2025-Q1; count", "count: 3"),
    Case("leap day", dated([1, 2, 3], "2024-03-01"), "2024-02; count", "count: 2"),
    Case("a year before the leap day", csv("date,v", "2024-02-29,1", "2023-03-01,2", "2023-02-28,3"),
         "last 1 year; count", "count: 2"),
    Case("a month before the 31st", csv("date,v", "2025-03-31,1", "2025-03-01,2", "2025-02-28,3"),
         "last 1 month; count", "count: 2"),
    Case("week of a year's end", csv("date,v", "2025-01-02,1", "2024-12-30,2", "2024-12-27,3"), "sum(v) by week",
         "week,sum(v): 2025-W01,3 / 2024-W52,3"),
    Case("period without dates", csv("name,v", "a,1"), "2025", says=("date",)),
    Case("relative period without dates", csv("name,v", "a,1"), "last 3 months", says=("date",)),
    Case("two columns of dates", csv("paid,declared,v", "2025-03-01,2024-12-15,1", "2024-06-01,2024-05-01,2"),
         "declared >= 2024-12-01; count", "count: 1"),
    Case("years are a period, not a number", MONTHLY, "2025; count", "count: 12"),
]  # fmt: skip


@each(DATES)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)
