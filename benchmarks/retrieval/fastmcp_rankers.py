"""FastMCP's tool searches, run in their own environment (``make clients`` fills it), on the same names and texts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.retrieval.rankers import Ranker, Recorded

PYTHON = Path(".venv-clients/bin/python")
SCRIPT = Path(__file__).with_name("fastmcp_search.py")

TITLES = {
    "bm25": "FastMCP BM25",
    "regex": "FastMCP regex: the request as the pattern",
    "regex_words": "FastMCP regex: any of the words",
}


def fastmcp_rankers(texts: Mapping[str, str], queries: Sequence[str], limit: int) -> dict[str, Ranker]:
    """Title → ranker, for ``queries`` alone, at most ``limit`` deep.

    Raises:
        FileNotFoundError: FastMCP's environment is not there.
        subprocess.CalledProcessError: the search failed; its last words are on stderr.
    """
    if not PYTHON.exists():
        raise FileNotFoundError(f"{PYTHON} is not there: make clients")
    # Isolated: no module of this folder may stand in for one of FastMCP's.
    done = subprocess.run(
        [str(PYTHON), "-I", str(SCRIPT)],
        input=json.dumps({"tools": dict(texts), "queries": list(queries), "limit": limit}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1800,
    )
    answers = json.loads(done.stdout)
    return {title: Recorded(answers[search]) for search, title in TITLES.items()}
