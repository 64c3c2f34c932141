"""Parse ``select``, one line that says which part of an answer to return; ``evaluator`` applies it.

Parts may come in any order, separated by ``;``, ``,``, ``|`` or white space; ``docs/reference/select.md`` shows them by
example. Names are not looked up here: the parser runs before anything is sent.
"""

from __future__ import annotations

import json
import re
from typing import Any

from toolfold.results.select import request_objects
from toolfold.results.select.clauses import SelectParser
from toolfold.results.select.selection import EXAMPLES, Selection, invalid_select

__all__ = ["EXAMPLES", "MAX_LENGTH", "Selection", "invalid_select", "parse_select"]

MAX_LENGTH = 500
"""Characters of an expression: enough for twenty columns and ten conditions, and a bound on the time to parse it."""

MAX_SQL_LENGTH = 4_000
"""Characters of a statement of SQL."""

_SQL = re.compile(r"\W*+(?:sql\s*+:?\s*+)?(?:select|with)\b", re.I)
_JMESPATH = re.compile(r"\s*(?:jmespath\s*[:=]\s*(?P<expression>.+)|\$\.?(?P<dollar>[^$\s\d][^$]*))", re.S | re.I)
_PATH = re.compile(r"[\w.\" ]*+(?:\[[^\]'\"]*+\](?:\.[\w\".]++)?+){2,}+\s*+\Z|[\w.]*+\[\?")
"""A path of several indexes into lists, or with a filter: JMESPath without its prefix."""

_JSON = re.compile(r"\s*+(?:\{\s*+\"|\[\s*+\"[^\[\]]*+\]\s*+\Z)")


def parse_select(expression: Any) -> Selection | None:
    """Parse an expression: a text, a list of its parts, or an object such as ``{"columns": ["close"], "limit": 5}``.

    Returns:
        The selection; None when it selects everything.

    Raises:
        InvalidArguments: it cannot be parsed; says where, and gives examples.
    """
    if expression is None:
        return None
    text = expression if isinstance(expression, str) else request_objects.to_text(expression)
    if len(text) <= MAX_LENGTH and _JSON.match(text):
        text = _from_json(text)
    if _SQL.match(text):
        if len(text) > MAX_SQL_LENGTH:
            raise invalid_select(f"is longer than {MAX_SQL_LENGTH:,} characters", None, "Write a shorter statement.")
        from toolfold.results.select import sql_query  # imports sqlite3

        if sql_query.is_sql(text):
            return Selection(sql=text)
    if len(text) > MAX_LENGTH:
        raise invalid_select(f"is longer than {MAX_LENGTH} characters")
    if found := _JMESPATH.match(text):
        return Selection(jmespath=(found["expression"] or found["dollar"]).strip())
    if _PATH.match(text):
        return Selection(jmespath=text.strip())
    return SelectParser(text).parse()


def _from_json(text: str) -> str:
    try:
        return request_objects.to_text(json.loads(text))
    except (ValueError, RecursionError):
        return text
