"""Arguments are written in the styles of OpenAPI; the expected texts are those of the table of its specification."""

from typing import Any

from tests.support.tables import differences
from toolfold.sources.http_api.styles import named_values, path_value, scalar_text

ARRAY, OBJECT = ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}


PARTS = [
    ("simple", False, "blue", "blue"),
    ("simple", False, ARRAY, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, ARRAY, "blue,black,brown"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("label", False, "blue", ".blue"),
    ("label", False, ARRAY, ".blue,black,brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, ARRAY, ".blue.black.brown"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("matrix", False, "", ";color"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, ARRAY, ";color=blue,black,brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
]


def test_parts_of_a_path_have_the_style_of_openapi() -> None:
    assert differences(lambda style, explode, value: path_value("color", value, style, explode), PARTS) == {}


PAIRS = [
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", True, ARRAY, "color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("form", True, [], ""),
    ("form", False, ARRAY, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", False, ["a,b", "c d"], "color=a%2Cb,c%20d"),
    ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("spaceDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
    ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
    ("deepObject", True, ["x"], "color%5B0%5D=x"),
    ("deepObject", True, "plain", "color=plain"),
    ("form", True, None, ""),
    ("form", True, True, "color=true"),
    ("form", True, [{"x": 1}], "color=%7B%22x%22%3A1%7D"),
    ("form", True, [None, 1], "color=null&color=1"),
    ("form", True, {"sort": ["a,desc", "b"], "page": 2, "no": []}, "sort=a%2Cdesc&sort=b&page=2"),
]


def test_pairs_of_a_query_have_the_style_of_openapi() -> None:
    def joined(style: str, explode: bool, value: Any) -> str:
        return "&".join(named_values("color", value, style, explode))

    assert differences(joined, PAIRS) == {}


def test_scalars_are_written_as_in_json() -> None:
    assert [scalar_text(value) for value in (True, False, None, 5, 2.5, "é x", [1], {})] == [
        "true", "false", "null", "5", "2.5", "é x", "[1]", "{}"
    ]  # fmt: skip
