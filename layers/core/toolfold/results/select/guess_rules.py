"""The tables of what is written in other languages, and what it is in that of ``select``: pandas, Excel, jq, English.

A row is a pattern and what replaces it. ``suggestions`` applies the rules of words to a whole guess, and those of steps
to each of its steps.
"""

from __future__ import annotations

import re

_REPLACED = {
    "&&": " and ", "&": " and ",
    "||": " or ", "==": "=", "groupby": "group by",
    " million": "M", " billion": "B", " thousand": "K",
}  # fmt: skip
"""Signs and words of other languages → those of the language."""

SIGNS = {
    "eq": "=", "equal": "=", "equals": "=", "ne": "!=", "neq": "!=",
    "gt": ">", "gte": ">=", "ge": ">=", "lt": "<", "lte": "<=", "le": "<=",
}  # fmt: skip
"""Words for comparisons."""

BEFORE_NUMBERS = ("last", "first", "newest", "oldest", "top", "bottom", "limit")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

UNITS = r"(?:day|week|month|quarter|year)s?"
SUMMARY = r"(max|min|sum|avg|mean|average|median|std|stddev|count)"

_OF_TEXT = (("contains", "contains"), ("starts_?with", "starts with"), ("ends_?with", "ends with"))
"""Functions of texts → words of the language."""

_PERIODS = (("D", "day"), ("W", "week"), ("M[ES]?", "month"), ("Q[ES]?", "quarter"), ("[YA][ES]?", "year"))
"""Periods of pandas → the unit."""

_SHORT_UNITS = (("d", "day"), ("w|wks?", "week"), ("m|mos?", "month"), ("q|qtrs?", "quarter"), ("y|yrs?", "year"))

_TEXT = r"(['\"][^'\"<>=]+['\"])"

_CLOCK = r"['\"]?(\d\d:\d\d)(?![:\d])['\"]?"
_OF_TIMES = r"\b(?:time|date|datetime|timestamp)"

_SIDE = r"(?:\w+\([^()]*\)|[\w.$'-]+|\"[^\"]+\")"
"""What a value is compared with."""

_METHODS = "max|min|sum|avg|mean|median|std|stddev|count|first|last|diff|change|pct_change"

_WORDS: tuple[tuple[str, str], ...] = (
    *((re.escape(written), word) for written, word in _REPLACED.items()),
    (r"\b(?:please|just|for the|of the|the|their|its|(?:give|show|tell|get) me|i (?:want|need))\b", " "),
    (r"^\.\[\] \| |^=(?=\w)", ""),
    (r"\bselect\(\.([^()]+)\)", r"\1"),
    (r"(?<![\w\])'\"])\.(?=[a-z_])", ""),
    (r"\s\|\s", "; "),
    (r"\[\.\[\]; ([^\[\]]+)\]; length", r"\1; count"),
    (r"!\s*\(", "not ("),
    (r"\b(order|sort)_?by\b", r"\1 by"),
    *((rf"\b{end}(?:_?date)?[ :=]+(?=\d{{4}})", f"{word} ") for end, word in (("start", "since"), ("end", "until"))),
    (rf"(?<![\w.$'-])({_SIDE} ?[<>≥≤]=?) ?({_SIDE}(?: ?[-+*/] ?{_SIDE})*) ?([<>≥≤]=? ?{_SIDE})", r"(\1 \2 and \2 \3)"),
    (r"(\b\w+\([^()]*\))( ?[-+*/] ?\w+\([^()]*\) over (\d+))", r"\1 over \3\2"),
    (r"(\b\w+\([^()]*\) over (\d+) ?[-+*/] ?\w+\([^()]*\))(?! ?over)", r"\1 over \2"),
    (r"\b(change|pct_change|lag)\(([^()]*)\) over (\d+)", r"\1(\2, \3)"),
    (r"\b(?:is )?(?:at least|no less than)\b", ">="),
    (r"\b(?:is )?(?:at most|no more than)\b", "<="),
    (r"(?<!\) )\b(?:is )?(?:(?:greater|more|larger|higher) than\b|(?:above|over)(?= *[\d$]))", ">"),
    (r"\b(?:is )?(?:(?:less|lower|smaller|fewer) than\b|(?:below|under)(?= *[\d$]))", "<"),
    *((rf"(?<=[\w)]) {word} (?=[\w'\"-])", f" {sign} ") for word, sign in SIGNS.items()),
    (r"\b(max|min)imum\(", r"\1("),
    (r"\b(asc|desc)ending\b", r"\1"),
    (r"(?<=[<>=])( ?\$?\d[\d.,]*) ?(?:m|mn|mio)\b", r"\1M"),
    (r"\b(?:per|(?:for|of|in) each|each) (year|quarter|month|week|weekday|day)\b", r"by \1"),
    (r"\b(?:arg|idx)(max|min)\(|\bdate of (max|min)\(", r"\1\2("),
    (r"\b(max|min)(\([^()]*\)) with (?:the )?date\b", r"\1\2"),
    (r"\bdiff\(", "change("),
    (r"(?<!\.)\b(?:size|cardinality|array_length)\(", "length("),
    *((rf"\b{word}\(([\w.]+) ?, ?{_TEXT}\)", rf"\1 {step} \2") for word, step in _OF_TEXT),
    *((rf"\b(?:(?:df|data)\.)?([\w.]+)\.str\.{word}\({_TEXT}[^()]*\)", rf"\1 {step} \2") for word, step in _OF_TEXT),
    (r"\bp(\d\d)\(([^()]+)\)", r"percentile(\2, \1)"),
    (r"\(((?:[^()]|\([^()]*\))+)\) ?(?:\^|\*\*) ?(\([^()]+\)|\d+(?:\.\d+)?)", r"power(\1, \2)"),
    (rf"\bgroup by (\w+) ?[;, ] ?(\w+\(.*?\)|{SUMMARY} [\w ]+)", r"\2 by \1"),
    (r"\bfrom (\w+)(?: select |: ?)", r"from \1; "),
    (r"(?<!\band )\b(?:date|timestamp|time|day) (after|before|since|until|between|on)\b", r"\1"),
    (r"\bdate in (?=\d)", ""),
    (r"\b([\w.]+) in (\d{4}(?:-\w{2}(?:-\d\d)?)?)(?=;|$| (?:and|or)\b)", r"\1 = \2"),
    (r"\b(?:count|number)(?: of)? (?:days|rows|records) (?:where|with|when) ([^;]+)", r"\1; count"),
    (r"\bhow many (?:days|rows|records)?(?: (?:where|with|when|have|are))? ?([^;]+)", r"\1; count"),
    (r"\b(?:days|rows|records) (?:where|with|when) ", ""),
    (r"\bcount if ([^;]+)", r"\1; count"),
    (r"\b(\w+ ?\(.*?\)) (asc|desc) by (\w+)", r"\1 by \3; order by \1 \2"),
    (r"\b(top|bottom) (\d+) (?:days|rows|weeks|months|years|values|items|stocks) by\b", r"\1 \2 by"),
    (r"\b(?:skip|offset) (\d+)[;,]? *limit (\d+)|\blimit (\d+)[;,]? *skip (\d+)", r"limit \2\3 offset \1\4"),
    (r"(?<![\w.])\d+[a-z]?\. (?=[A-Za-z])", ""),
    (r"(?<![\w.,])([1-9]\d{0,2}),(\d{3})(?:,(\d{3}))?(?![\d,])", r"\1\2\3"),
    (r"(?:df|data)\[(?:df|data)\[ ?(['\"])(\w+)\1 ?\]", r"df[df.\2"),
    (r"(?:df|data)\[(?:df|data)\.([^\[\]]+)\](?:\.|\[['\"])(\w+)(?:['\"]\])?\.(\w+)\(\)", r"\1; \3(\2)"),
    (r"(?:df|data)\.loc\[(?:df|data)\.([^\[\],]+), ?['\"](\w+)['\"]\]\.(\w+)\(\)", r"\1; \3(\2)"),
    (r"(?:df|data)\[(?:df|data)\.([^\[\]]+)\]\[\[?([^\[\]]+)\]\]?$", r"\1; \2"),
    (r"(?:(?:df|data)\.)?group by\(['\"]([\w.]+)['\"]\)\[['\"]([\w.]+)['\"]\]\.(\w+)\(\)", r"\3(\2) by \1"),
    (
        r"(?:(?:df|data)\.)?group by\(['\"]([\w.]+)['\"]\)\.agg\(\{['\"]([\w.]+)['\"] ?: ?['\"](\w+)['\"]\}\)",
        r"\3(\2) by \1",
    ),
    (r"(?:(?:df|data)\.)?group by\(['\"]([\w.]+)['\"]\)\.(?:size|count)\(\)", r"count by \1"),
    *(
        (rf"(?:df|data)\.resample\(['\"]{period}['\"][^()]*\)(?:\.|\[.)(\w+)(?:.\])?\.(\w+)\(\)", rf"\2(\1) by {unit}")
        for period, unit in _PERIODS
    ),
    (r"(?:df|data)\.query\((['\"])(.+?)\1\)", r"\2"),
    (r"(?:df|data)?\[ ?['\"](\w+)['\"] ?\]", r"\1"),
    (rf"^(?!df\.|data\.)(\w+)\.(\w+)\.({_METHODS})\(\)", r"\1; \3(\2)"),
    (rf"\b(?:(?:df|data)\.)?(\w+)\.({_METHODS})\(\)", r"\2(\1)"),
    (rf"\b({_METHODS})(\(\w+\))\.({_METHODS})\(\)", r"\3(\1\2)"),
    (r"([)\]])\.head\( ?(\d+) ?\)", r"\1; limit \2"),
    (r"(\))\.tail\( ?(\d+) ?\)", r"\1; last \2"),
    (r"(?:(?:df|data)\.)?sort_values\((?:by ?= ?)?['\"](\w+)['\"] ?, ?asc ?= ?(?:False|0)\)", r"order by \1 desc"),
    (r"(?:(?:df|data)\.)?sort_values\((?:by ?= ?)?['\"](\w+)['\"](?: ?, ?asc ?= ?(?:True|1))?\)", r"order by \1"),
    *((rf"\b(\w+)\.iloc\[{place}\]", rf"{word}(\1)") for word, place in (("last", -1), ("first", 0))),
    (r"((?<![<>])=|\bcontains|\bwith) (\d\w*(?:[-/]\w+| \d\w*)+)(?=;|$| (?:and|or)\b)", r"\1 '\2'"),
    (r"\b(?:day[ _]?of[ _]?week|day[ _]?name)\b", "weekday"),
    (r"(?<=\w)(?: is ?(?:na|null|missing|empty)\b|\.is(?:na|null)\(\))", " is null"),
    (r"(?<=\w)(?:(?: is)? not ?(?:na|null)\b|\.not(?:na|null)\(\))", " is not null"),
    (r"\bby decade\b", "by year - year % 10"),
    (r"(?<![\w)%] )(?<![\w)%])%(?=[A-Za-z])", ""),
    (r"(?<![\d:])(\d:\d\d)(?![:\d])", r"0\1"),
    (rf"(?:{_OF_TIMES} )?\bbetween {_CLOCK} and {_CLOCK}", r"strftime('%H:%M', date) between '\1' and '\2'"),
    (rf"{_OF_TIMES}( ?[<>=!]+ ?){_CLOCK}", r"strftime('%H:%M', date)\1'\2'"),
    (r"(?<=[\d)\]'\"])\[\[([^\[\]]+)\]\]", r"; \1"),
    *(
        (
            rf"\b{word} (\d+) by ([\w.]+) (?:by|per|(?:for|in|of) each) ([\w.]+)",
            rf"SELECT * FROM data QUALIFY row_number() OVER (PARTITION BY \3 ORDER BY \2 {direction}) <= \1",
        )
        for word, direction in (("top", "DESC"), ("bottom", "ASC"))
    ),
    (r"\b(?:top|bottom)( \d+ by [\w.]+) asc\b|\bbottom( \d+ by [\w.]+) desc\b", r"bottom\1\2"),
    (r"\b(top \d+ by [\w.]+) desc\b", r"\1"),
    (r"\b((?:percent_|dense_)?rank|row_number|cume_dist)\((\w+)\)", r"\1() over (order by \2) as \1"),
    (r"([<>=] ?['\w.-]+) count$", r"\1; count"),
    (
        r"(\w+\([^()]*\)) where (\w+ ?=+ ?[\w'.-]+) ?([-+*/]) ?(\w+\([^()]*\)) where (\w+ ?=+ ?[\w'.-]+)",
        r"SELECT \1 FILTER (WHERE \2) \3 \4 FILTER (WHERE \5) FROM data",
    ),
    *((rf"\b({'|'.join(BEFORE_NUMBERS)}) {word}\b", rf"\1 {number}") for number, word in enumerate(_NUMBERS, 1)),
)
"""Words and signs anywhere in a guess → those of the language."""

_EXTREMES = (("top", "last", "highest|n?largest|biggest"), ("bottom", "first", "lowest|n?smallest"))
_STEPS: tuple[tuple[str, str], ...] = (
    (r"last -(\d+)", r"last \1"),
    (rf"{SUMMARY} (?:of )?(?!(?:by|rows)\b)([\w ]+?)( by [\w ]+)?", r"\1(\2)\3"),
    (r"(\w+) ?= ?([A-Za-z_]\w* ?(?:[-+*/] ?\w|\().*)", r"\2 as \1"),
    (r"(last|first) (\w+) by (year|quarter|month|week|day)", r"\1(\2) by \3"),
    (r"(?:(\w+)\.)?(\d{4}-\d\d-\d\d)\.(\w+)", r"\1; \2; \3"),
    (r"(?!df\b|data\b)(\w+)\.(?:last|tail)\( ?(\d+) ?\)", r"\1; last \2"),
    (r"total (?:of )?([\w ]+) by (.+)", r"sum(\1) by \2"),
    (r"(?:(\w+)\.)?value_counts\((\w*)\)|(\w+) value_counts", r"count by \1\2\3; order by count desc"),
    (r"(.+) by ([\w., ]+) as (\w+)", r"\1 as \3 by \2"),
    (r"mode\((\w+)\)", r"count by \1; top 1 by count"),
    (r"cumsum\((\w+)\)", r"SELECT date, sum(\1) OVER (ORDER BY date) AS cumsum FROM data"),
    (
        r"(?:max_?)?drawdown\((\w+)\)",
        r"SELECT 100 * min(\1 / peak - 1) AS drawdown_percent FROM "
        r"(SELECT \1, max(\1) OVER (ORDER BY date) AS peak FROM data)",
    ),
    (r"=?(sum|average|avg)ifs?\((\w+) ?, ?['\"]?([<>=]+ ?[\w.-]+)['\"]? ?, ?(\w+)\)", r"\2 \3; \1(\4)"),
    (rf"(sum|average|avg)if\(([\w.]+) ?, ?{_TEXT} ?, ?([\w.]+)\)", r"\2 = \3; \1(\4)"),
    (rf"(sum|average|avg|max|min)ifs\(([\w.]+) ?, ?([\w.]+) ?, ?{_TEXT}\)", r"\3 = \4; \1(\2)"),
    (rf"countifs?\(([\w.]+) ?, ?{_TEXT}\)", r"\1 = \2; count"),
    (r"(?:(?:df|data)\.)?([\w.]+) is (not )?null\.sum\(\)", r"\1 is \2null; count"),
    (r"(?:(?:df|data)\.)?([\w.]+)\.nunique\(\)|nunique\(([\w.]+)\)", r"count(distinct \1\2)"),
    (r"=?countifs?\((\w+) ?, ?['\"]?([<>=]+ ?[\w.-]+)['\"]?\)", r"\1 \2; count"),
    *((rf"last (\d+) ?(?:{short})", rf"last \1 {unit}s") for short, unit in _SHORT_UNITS),
    (rf"(\d+) (?:most recent|latest|newest|last)( {UNITS})?(?: rows)?", r"last \1\2"),
    (rf"(?:newest|latest|most recent|recent) (\d+)( {UNITS})?", r"last \1\2"),
    (r"(?:\w+\.)?tail ?\(? ?(\d+) ?\)?", r"last \1"),
    (r"(?:rows|count|number) ?[=:] ?(\d+)|top (\d+)", r"limit \1\2"),
    *(
        rule
        for word, end, others in _EXTREMES
        for rule in (
            (rf"(?:\w+\.)?(?:{others})\( ?(\d+) ?, ?['\"]?(\w+)['\"]? ?\)", rf"{word} \1 by \2"),
            (rf"(?:\w+\.)?(?:{others})\( ?['\"]?(\w+)['\"]? ?, ?(\d+) ?\)", rf"{word} \2 by \1"),
            (rf"(\w+)\.(?:{others})\( ?(\d+) ?\)", rf"{word} \2 by \1"),
            (rf"(\d+) (?:{others}) (.+)|(?:{others}|{end}) (\d+) by (?!{UNITS}$)(.+)", rf"{word} \1\3 by \2\4"),
        )
    ),
    (r"(?:(?:sort|order)(?:ed)?(?: by)? ?=? ?)?-(\w+)|desc (\w+)", r"order by \1\2 desc"),
    (r"(?:latest|newest|last|most recent|current) (\D.*)", r"last 1; \1"),
    (r"(?:oldest|first|earliest) (\D.*)", r"first 1; \1"),
    (r"(week|month|quarter|year)ly (.+)", r"\2 by \1"),
    (r"(?:df|data)\[\[(.+)\]\]", r"\1"),
    (r"'(\w+)', ?'(\w+)'", r"\1, \2"),
    (r"'(\w+)'|(?:df|data)\[([A-Za-z][^\[\]]+)\]", r"\1\2"),
    (r"(?:(\w*)\.)?rolling\( ?(\d+) ?\)\.mean\(\)", r"avg(\1) over \2"),
    (r"(?:sma|ma|moving[ _]average|rolling[ _](?:mean|avg|average))\( ?(\w+) ?, ?(\d+) ?\)", r"avg(\1) over \2"),
    (r"(?:unique|distinct)\( ?(.+?) ?\)", r"distinct \1"),
    (r"group by ([^:()]+)", r"count by \1"),
    (r"(.+?) ?(?:[;,] ?-|\bwithout\b ?-?)(\w+)(?<=date|time)|(.+?) without (\w+)", r"\1\3; * except \2\4"),
    (r"columns? only ?: ?(.+)|only (.+)", r"\1\2; * except date"),
    (r"(\w+) is (?!null\b|not\b)(.+)", r"\1 = \2"),
)
"""A step as it is guessed → steps."""

STEP_RULES = tuple((re.compile(pattern, re.I | re.S), template) for pattern, template in _STEPS)
WORD_RULES = tuple((re.compile(pattern, re.I), template) for pattern, template in _WORDS)
