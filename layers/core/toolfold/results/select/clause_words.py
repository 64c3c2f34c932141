"""The parts of a ``select`` that begin with a word or sign of their own, as regular expressions."""

from __future__ import annotations

import re

from toolfold.results.select.period_words import COUNT

NAME = r"""(?:"[^"]++"|'[^']++'|`[^`]++`|[^\W\d][\w.]*+)"""

ROWS = (
    r"(?:\s++(?:rows?|records?|entries|entry|items?|results?|values?|(?:data\s*+)?points?|observations?|bars?"
    r"|articles?|lines?|samples?)\b)"
)

WHICH = {
    "last": "last",
    "first": "first",
    **dict.fromkeys(("newest", "latest", "most recent", "recent"), "newest"),
    **dict.fromkeys(("oldest", "earliest"), "oldest"),
    **dict.fromkeys(("limit", "head", "take"), "head"),
    **dict.fromkeys(("next", "upcoming"), "next"),
    "tail": "tail",
}
"""Words before a number of rows, and which rows they mean."""

MOST = {
    **dict.fromkeys(("highest", "largest", "biggest", "greatest"), "top"),
    **dict.fromkeys(("lowest", "smallest"), "bottom"),
}

_WORDS = "|".join(word.replace(" ", r"\s++") for word in WHICH)
_DAYS = r"\s++(?:trading\s++)?(?:days?|sessions?|dates?)"
"""Rows of daily data."""

_FIELDS = r"(?:columns?|cols|fields?|keys|attributes)"

SEPARATOR = re.compile(
    r"(?:[\s;,]|&&?|\|\|?|\.(?=[A-Za-z_\s])|(?:and|then|where|filter(?:\s++by)?|having|with|also|select|show|get|give"
    r"|return|display|print|me|please|the|of|for|just|only|if|when)\b(?=[\s:])"
    rf"|(?:{_FIELDS}|values?|filters?|select|where)\s*+[:=](?!=)|{_FIELDS}\s++(?!only\b)(?=[\w\"'])|:)*+",
    re.I,
)
"""What may be between two parts, and words that change nothing."""

_NUMBER = r"(?:n\s*+=\s*+)?(?P<count>\d{1,9})"
_COUNT_AND_NAME = rf"\(\s*+{_NUMBER}\s*+,\s*+(?:columns?\s*+=\s*+)?\[?\s*+(?P<name>{NAME})\s*+\]?\s*+\)"
"""The arguments of ``nlargest(3, 'close')``."""

PARTS = {
    kind: re.compile(pattern, re.I)
    for kind, pattern in {
        "exactly": rf"(?:{_FIELDS}|values?)\s++only\b\s*+:?|only\s++(?:the\s++)?(?:{_FIELDS}|values?)\b\s*+:?",
        "everything": rf"(?:\*|(?:all|everything)(?:\s++(?:{_FIELDS}|rows?|data)\b)?)(?=\s*+(?:[;,|]|$)|\s++\w)",
        "by_date": r"(?:(?:order|sort)(?:ed)?(?:\s++by)?\s++)?"
        r"(?:(?P<way>newest|latest|most\s++recent|recent|oldest|earliest)(?:\s++(?:rows?|dates?))?\s++first|(?P<reverse>reverse\s++)?chronological(?:ly)?(?:\s++order)?)\b(?!\s*+\d)",
        "call": r"(?:(?:df|data|rows|table)\.)?(?P<which>head|tail|limit|first|last|take)"
        r"\(\s*+(?P<count>\d{0,9}+)\s*+\)",
        "page": r"limit\s*+(?P<skip>\d{1,9})\s*+,\s*+(?P<count>(?!(?:19|20)\d\d\b)\d{1,9})(?![\w.%-])",
        "extremes": rf"(?:(?:df|data|rows|table)\.)?n_?(?P<which>largest|smallest){_COUNT_AND_NAME}",
        "extremes_by": rf"n_?(?P<which>largest|smallest)\(\s*+(?P<name>{NAME})\s*+,\s*+{_NUMBER}\s*+\)",
        "extremes_of": rf"(?P<name>[^\W\d]\w*+)\.n_?(?P<which>largest|smallest)\(\s*+{_NUMBER}\s*+\)",
        "take": rf"(?P<which>{_WORDS})\s*+[:=]?\s*+-?(?P<count>{COUNT})(?:{ROWS}|(?![\w.%]|\s*+[*/+]))",
        "equals": r"(?:rows|max_?rows|num_?rows|page_?size)\s*+[:=]\s*+(?P<count>\d{1,9})(?!\w)",
        "one": rf"(?P<which>{_WORDS})(?P<count>){ROWS}",
        "rows": rf"(?P<count>\d{{1,9}}(?!\d))(?:(?P<which>){ROWS}|\s++(?P<before>{_WORDS})\b(?:{_DAYS}\b)?)",
        "top": rf"(?P<which>top|bottom)\s*+[:=]?\s*+(?P<count>{COUNT})\b(?!\s*+[*/+(])"
        rf"(?:{ROWS}|{_DAYS}(?=\s++(?:by|on)\b))?",
        "most": rf"(?:(?P<before>{COUNT})\s++)?(?P<which>{'|'.join(MOST)})(?:\s++(?P<count>\d{{1,9}}))?(?=\s++[\w\"'])",
        "skip": r"(?:offset|skip)\s*+[:=]?\s*+(?P<count>\d{1,9})(?!\w)",
        "order": r"(?:(?:order|sort)(?:ed)?(?:\s*+_?by\b|\s++on\b)?\s*+[:=]?|rank(?:ed)?\s++by)"
        r"\s*+(?=[\w\"'(−-])(?<![a-z])",
        "ordered": r"(?P<way>desc(?:ending)?|asc(?:ending)?)\s++(?:by\s++)?(?=[\w\"'(])",
        "minus": rf"[-−](?P<name>{NAME})(?!\s*+[-+*/(<>=.])",
        "group": r"(?:group(?:ed)?\s*+_?by|(?:for\s++)?each|per|by)\b\s*+[:=]?\s*+(?=[\w\"'(])",
        "adverb": r"(?P<unit>year|month|quarter|week|dai|annual|hour)ly\s++(?=\w+\s*+\()",
        "distinct": r"(?:distinct|unique)\s++(?:values?\s++(?:of|in)\s++)?(?=[\w\"'])",
        "without": r"(?:without|except(?:\s++for)?|excluding|exclude|omit|drop|no)"
        r"(?:\s++the)?(?:\s*+:)?\s++(?=[\w\"'])",
        "table": rf"(?:from|table)(?:\s*+[:=])?\s++(?:the\s++|table\s++)?(?P<name>{NAME})(?!\s*+[(<>=])",
        "columns": r"\[\[?\s*+(?P<names>(?:\"[^\"\]]++\"|'[^'\]]++')"
        r"(?:\s*+,\s*+(?:\"[^\"\]]++\"|'[^'\]]++'))*+)\s*+\]\]?",
        "slice": r"\[\s*+(?:\*|(?P<start>-?\d{1,9})?\s*+(?P<colon>:)?\s*+(?P<stop>-?\d{1,9})?\s*+(?::\s*+1?)?)\s*+\]",
    }.items()
}
"""Kind of a part → how it begins, in the order in which they are tried."""

DIRECTION = re.compile(
    r"\s++(?P<way>desc(?:ending)?|asc(?:ending)?|down|up|high\s++to\s++low|low\s++to\s++high|(?:newest|oldest|largest"
    r"|highest|smallest|lowest)\s++first)\b",
    re.I,
)
NO_ORDER = re.compile(r"\s++(?:up|down)\b", re.I)
"""Directions that alone do not say that a column is sorted by."""

BY = re.compile(r"\s*+(?:(?:ranked|sorted|ordered)\s++)?(?:by|on)\s++", re.I)
COMMA = re.compile(r"\s*+,\s*+|\s++and\s++", re.I)
