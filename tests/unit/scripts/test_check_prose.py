"""scripts/check_prose.py: what counts as prose, and what is refused in it."""

import pytest

from scripts import check_prose
from scripts.check_prose import Prose

RULES = check_prose.parse_rules("whoever -> the caller\nheld -> cached; unless: \\block\nroad(s)? -> path\n")
VERBS = frozenset({"return", "check"})


def findings(path: str, lines: list[Prose]) -> list[str]:
    return [finding.phrase for finding in check_prose.check_prose(path, lines, RULES, VERBS)]


def texts(source: str) -> list[str]:
    return [line.text.strip() for line in check_prose.prose_of_python(source) if not line.opens_function]


def test_refused_word_is_reported_with_its_line_and_suggestion():
    [finding] = check_prose.check_prose("a.md", [Prose(3, "Whoever calls gets an answer.")], RULES)
    assert str(finding) == "a.md:3: “Whoever”: write the caller"


def test_parts_of_words_are_not_refused():
    assert findings("a.md", [Prose(1, "The upheld roadmap, a road-map")]) == []


def test_exception_of_a_rule_accepts_the_line():
    assert findings("a.md", [Prose(1, "held by a lock"), Prose(2, "held for an hour")]) == ["held"]


def test_text_in_backticks_is_no_prose():
    assert findings("a.md", [Prose(1, "`road` and ``whoever``"), Prose(2, "https://example.org/road")]) == []


def test_identifiers_and_other_strings_of_python_are_no_prose():
    assert texts("held = 'whoever walks'\nprint('whoever', held)\n") == []


def test_docstrings_comments_help_texts_and_messages_are_prose():
    source = (
        '"""Module."""\n'
        "x = 1  # Comment.\n"
        "class A:\n"
        '    """Class."""\n'
        "    y = 2\n"
        '    """Attribute."""\n'
        'add_argument("--x", help="a help text")\n'
        'raise ValueError(f"a message about {x}")\n'
        'logger.warning("a log line", x)\n'
    )
    expected = {"Module.", "Comment.", "Class.", "Attribute.", "a help text", "a message about", "a log line"}
    assert set(texts(source)) == expected


@pytest.mark.parametrize(
    ("docstring", "refused"), [("Return it.", False), ("The value.", True), ("``x`` as text.", True)]
)
def test_docstring_of_a_function_begins_with_an_imperative_verb(docstring: str, refused: bool):
    lines = list(check_prose.prose_of_python(f'def f():\n    """{docstring}"""\n'))
    assert bool(findings("layers/a.py", lines)) is refused
    assert findings("tests/a.py", lines) == []


def test_docstring_of_a_property_may_be_a_noun():
    lines = list(check_prose.prose_of_python('class A:\n    @property\n    def f(self):\n        """The value."""\n'))
    assert findings("layers/a.py", lines) == []


def test_code_blocks_and_link_targets_of_markdown_are_no_prose():
    source = "Text\n```sh\nwhoever\n```\n[link](road.md)\n"
    assert findings("a.md", list(check_prose.prose_of_markdown(source))) == []


def test_only_comments_of_yaml_are_prose():
    assert [line.text for line in check_prose.prose_of_comments("a: whoever  # held\n# road\n")] == ["held", "road"]


def test_every_rule_of_the_list_is_a_pattern_with_a_suggestion():
    rules = check_prose.parse_rules(check_prose.WORDS.read_text(encoding="utf-8"))
    assert all(rule.suggestion for rule in rules)


@pytest.mark.parametrize("line", ["held", "( -> x"])
def test_wrong_rule_is_an_error(line: str):
    with pytest.raises(ValueError, match="line 1"):
        check_prose.parse_rules(line)


@pytest.mark.parametrize("line", ["docs/*.md", "docs/*.md | text | "])
def test_exemption_without_a_reason_is_an_error(line: str):
    with pytest.raises(ValueError, match="line 1"):
        check_prose.parse_exemptions(line)


def test_every_exemption_of_the_list_has_a_reason():
    assert all(
        exemption.reason for exemption in check_prose.parse_exemptions(check_prose.ALLOWED.read_text(encoding="utf-8"))
    )
