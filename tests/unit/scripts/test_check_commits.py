"""scripts/check_commits.py: which subjects of commits are refused."""

import pytest

from scripts import check_commits

VERBS = frozenset({"cache", "use"})


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("Cache CLI calls in a per-user SQLite file", None),
        ("Use " + "x" * 68, None),
        ("Use " + "x" * 69, "73 characters"),
        ("Use cachetools.", "period"),
        ("use cachetools", "capital"),
        ("A cache of CLI calls", "starts with “a”"),
    ],
)
def test_subject_is_short_and_imperative(subject: str, problem: str | None):
    problems = list(check_commits.find_problems(subject, VERBS))
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


def test_commits_after_a_base_are_read():
    if not check_commits._git("rev-parse", "--verify", "--quiet", "HEAD~1", check=False):
        pytest.skip("a shallow clone")
    [(revision, subject)] = check_commits.read_subjects("HEAD~1")[:1]
    assert revision
    assert subject
