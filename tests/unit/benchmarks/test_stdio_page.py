"""The table shows the measured figures."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.stdio import (
    FLOOR,
    INITIALIZE,
    LIST,
    TOOL_CALL,
    TOOL_LIST,
    TOOLFOLD,
    Start,
    measured_servers,
    page,
)

ABOUT = {"python": "3.13.0", "processor": "a processor", "cores": 2, "system": "Linux"}


def test_each_contender_has_a_row_with_medians_and_its_ratio_to_the_floor() -> None:
    def start(answered: Mapping[str, float]) -> Start:
        return Start(answered, memory_started=9, memory_in_the_end=26)

    everyone, times = measured_servers(), (10, 20, 60)
    starts = {one.name: [start({INITIALIZE: 3 * ms, LIST: 40, TOOL_LIST: 50}) for ms in times] for one in everyone}
    starts[FLOOR] = [start({INITIALIZE: ms}) for ms in times]
    starts[TOOLFOLD] = [start({**one.answered_ms, TOOL_CALL: 1_500}) for one in starts[TOOLFOLD]]
    rows = [row.split(" | ") for row in page(everyone, starts, ABOUT).splitlines() if row.startswith("| ")][2:]
    assert [row[0].removeprefix("| ") for row in rows] == [one.title for one in everyone]
    floor, ours, *peers = ([cell.rstrip(" |") for cell in row[1:7]] for row in rows)
    assert floor == ["20 (15–40)", "1.0", "–", "–", "–", "9"]
    assert ours == ["60 (45–120)", "3.0", "40 (40–40)", "50 (50–50)", "1,500 (1,500–1,500)", "9 → 26"]
    assert all(peer == [*ours[:4], "–", "9 → 26"] for peer in peers)
