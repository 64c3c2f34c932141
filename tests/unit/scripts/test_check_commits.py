"""scripts/check_commits.py: which subjects of commits are refused."""

import subprocess
from pathlib import Path

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


class Repository:
    """An empty repository of git in which the check runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> str:
        options = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self._path), *options, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()

    def commit(self, subject: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set in a hook
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(check_commits, "ROOT", tmp_path)
    return Repository(tmp_path)


@pytest.fixture
def commits(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An older commit, the last one before the convention, and two after it."""
    made = [repository.commit(subject) for subject in ("older", "old", "Use a", "Use b")]
    monkeypatch.setattr(check_commits, "BEFORE_CONVENTION", made[1])
    return made


def test_without_a_remote_all_commits_since_the_convention_are_checked(commits: list[str]):
    assert check_commits.find_base() == commits[1]


@pytest.mark.parametrize(
    ("remote", "base"),
    [
        pytest.param(0, 1, id="remote is older than the convention"),
        pytest.param(1, 1, id="remote is at the convention"),
        pytest.param(2, 2, id="branch is ahead"),
        pytest.param(3, 1, id="branch is the remote's, as in CI"),
    ],
)
def test_the_base_is_never_older_than_the_convention(
    repository: Repository, commits: list[str], remote: int, base: int
):
    repository.git("update-ref", "refs/remotes/origin/main", commits[remote])
    assert check_commits.find_base() == commits[base]


def test_a_shallow_clone_passes(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    revision = repository.commit("old")
    repository.git("update-ref", "refs/remotes/origin/main", revision)
    monkeypatch.setattr(check_commits, "BEFORE_CONVENTION", "0" * 39 + "1")
    assert check_commits.main([]) == 0
    assert "shallow" in capsys.readouterr().out


def test_a_wrong_subject_fails(commits: list[str], repository: Repository, capsys: pytest.CaptureFixture[str]):
    revision = repository.commit("wrong")
    assert check_commits.main([]) == 1
    assert revision[:7] in capsys.readouterr().out
