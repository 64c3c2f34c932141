"""The picture of the architecture is that of the template, and says what the template says."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from scripts.architecture_picture import PICTURE, WIDTH, draw, drawn_resources

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(drawn_resources()), "stale: make picture"


def test_every_function_store_and_queue_is_in_it() -> None:
    texts = {text.text for text in ET.fromstring(PICTURE.read_text(encoding="utf-8")).iter(f"{SVG}text")}
    assert {"GatewayFunction", "CatalogBucket", "CacheTable", "OffloadBucket"} <= texts
    assert not [text for text in texts if text and text.startswith("Also:")], "a resource has no place"


def test_a_permission_that_the_role_loses_disappears() -> None:
    resources = drawn_resources()
    document = resources["GatewayRole"]["Properties"]["Policies"][0]["PolicyDocument"]
    document["Statement"] = [one for one in document["Statement"] if one["Sid"] != "ReadAndWriteCache"]
    changed = draw(resources)
    assert "UpdateItem" in draw(drawn_resources())
    assert "UpdateItem" not in changed
    assert changed.count("<path") < draw(drawn_resources()).count("<path")


def test_no_box_is_wider_than_the_page() -> None:
    for box in ET.fromstring(draw(drawn_resources())).iter(f"{SVG}rect"):
        assert float(box.get("x", "0")) + float(box.get("width", "0")) <= WIDTH
