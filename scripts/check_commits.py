"""Check the subjects of commits: ``make prose``.

A subject is at most 72 characters, starts with a capital letter and an imperative verb, and ends without a period.
The commits after the merge base with ``origin/main`` are checked when this branch is ahead of it, otherwise the commits
after :data:`BEFORE_CONVENTION`. Older commits are never checked.

    python -m scripts.check_commits [--base REVISION]
"""

import argparse
import sys
from collections.abc import Iterator

from scripts.check_prose import VERBS, parse_verbs, run_git

# The last commit before the convention; older subjects do not follow it, and history is not rewritten.
BEFORE_CONVENTION = "6f2406d610a094ec44d44bd34a919bd450530059"
MAX_SUBJECT = 72


def find_problems(subject: str, verbs: frozenset[str]) -> Iterator[str]:
    """Yield what is wrong with ``subject``, one sentence each."""
    if len(subject) > MAX_SUBJECT:
        yield f"{len(subject)} characters; at most {MAX_SUBJECT}"
    if subject.endswith("."):
        yield "ends with a period"
    if not subject[:1].isupper():
        yield "does not start with a capital letter"
    verb = subject.split(" ", maxsplit=1)[0].lower().rstrip(",")
    if verb not in verbs:
        yield f"starts with “{verb}”, which is no verb of {VERBS.name}"


def read_subjects(base: str) -> list[tuple[str, str]]:
    """Return the hash and the subject of each commit after ``base``, the newest first, without merges."""
    log = run_git("log", "--no-merges", "--format=%H %s", f"{base}..HEAD")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in log.splitlines()]


def find_base() -> str | None:
    """Return the revision after which commits are checked; None in a shallow clone that does not contain it."""
    # A clone may have no origin/main, and a shallow one no common ancestor with it: git prints nothing for either.
    found = (
        run_git("merge-base", "HEAD", revision, check=False).strip() for revision in ("origin/main", BEFORE_CONVENTION)
    )
    bases = [base for base in found if base and base != run_git("rev-parse", "HEAD").strip()]
    # The newer of the two: origin/main may be older than the convention.
    return run_git("merge-base", "--independent", *bases).split()[0] if bases else None


def main(argv: list[str] | None = None) -> int:
    """Print every subject that breaks a rule; return 1 when there is one."""
    parser = argparse.ArgumentParser(description="Check the subjects of commits.")
    parser.add_argument("--base", help="check the commits after this revision")
    base = parser.parse_args(argv).base or find_base()
    if base is None:
        print("no commits to check: this clone is shallow")
        return 0
    verbs = parse_verbs(VERBS.read_text(encoding="utf-8"))
    failed = False
    for revision, subject in read_subjects(base):
        for problem in find_problems(subject, verbs):
            failed = True
            print(f"{revision[:7]}: {problem}: {subject}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
