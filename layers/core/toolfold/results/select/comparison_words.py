"""The words and signs of conditions, as regular expressions."""

from __future__ import annotations

import re

# Possessive quantifiers (*+): what they match is never given back, so that no text takes more than linear time.

_THAN = r"(?:is\s++)?(?:greater|more|higher|larger|bigger)\s++than"
_LESS_THAN = r"(?:is\s++)?(?:less|lower|fewer|smaller)\s++than"

OPERATORS = [
    (re.compile(rf"(?:{pattern})(?=\s*+[^\s;,])", re.I), operator)
    for pattern, operator in (
        (r"(?:is\s++)?not\s++in\b", "not in"),
        (r"(?:is\s++)?(?:in|one\s++of)(?=\s*+[(\[])", "in"),
        (r"(?:is\s++)?between\b", "between"),
        (r"not\s++contain(?:s|ing)?\b|does\s*+n[o']t\s++contain\b|!~", "not contains"),
        (r"(?:contain(?:s|ing)?|includ(?:es|ing)|matches)(?!\w)|~=?|=~", "contains"),
        (r"not\s++i?like\b", "not like"),
        (r"i?like\b", "like"),
        (r"start(?:s|ing)?[\s_]*+with\b|begin(?:s|ning)?\s++with\b|\^=", "starts"),
        (r"end(?:s|ing)?[\s_]*+with\b|\$=", "ends"),
        (rf"{_THAN}\s++or\s++equals?\s++to\b|(?:is\s++)?at\s++least\b|>=|=>|≥|gte\b", ">="),
        (rf"{_LESS_THAN}\s++or\s++equals?\s++to\b|(?:is\s++)?at\s++most\b|<=|=<|≤|lte\b", "<="),
        (r"!==?|<>|≠|is\s++not\b(?:\s++equal\s++to\b)?|isn't\b|not\s++equals?\b(?:\s++to\b)?", "!="),
        (rf"{_THAN}\b|(?:is\s++)?(?:above|over|exceed(?:s|ing))\b|>|gt\b", ">"),
        (rf"{_LESS_THAN}\b|(?:is\s++)?(?:below|under)\b|<|lt\b", "<"),
        (r"={1,3}|is\s++equal\s++to\b|equals?\b(?:\s++to\b)?|is\b", "="),
        (r":(?!:)", ":"),
    )
]
"""What compares, and the operator that it means, in the order in which they are tried."""

DATE_OPERATORS = re.compile(r"(?:is\s++)?(?P<word>after|since|before|until|from|on|in|during|by)\s++", re.I)
"""Words between the name of a date and a date."""

TO_DATE = re.compile(r"\s++(?:to|until|through|and)\s++", re.I)

DATE_LIKE = re.compile(r"date|time|day|expir|ending|published|period|when", re.I)
"""Names that are those of dates."""

NULL_TEST = re.compile(
    r"(?:is\s++|={1,3}\s*+)?(?P<negated>not\s++|(?:!=|<>)\s*+)?(?:null|none|missing|empty|nan)\b(?!\s*+[(=<>])", re.I
)
"""Whether there is a value."""

LEFT_VALUE = re.compile(r"[$€£]?[+-]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+[kmbt%]?", re.I)
"""A number on the left of what it is compared with."""

ORDER_SIGN = re.compile(r"\s*+(<=|=<|≤|>=|=>|≥|<(?!>)|>)\s*+(?=[^\s;,])")

STOP = re.compile(
    r"(?:where|filter|having|and|or|not|null|order(?:ed)?\s++by|sort(?:ed)?|group(?:ed)?\s++by|by|per|as|asc|desc"
    r"|ascending|descending|without|except|excluding|is|isn't|then)\b",
    re.I,
)
"""Words that end a name of several words."""

AND = re.compile(r"\s*+(?:and\b|&&?)", re.I)
OR = re.compile(r"\s*+(?:or\b|\|\|?)", re.I)

BARE = re.compile(r"(?:[^;,\s&|()\[\]]|\((?=[^();]*+\))[^();]*+\)|(?<=[^\s&])&(?=[^\s&]))++")
"""A word of a value without quotes."""

THOUSANDS = re.compile(r"[$€£]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?![\d,])")
LIST = re.compile(r"\s*+[(\[](?P<items>[^()\[\]]*+)[)\]]")
LIST_ITEM = re.compile(r"\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^,\"'|]*+))\s*+(?:[,|]|$)", re.I)
