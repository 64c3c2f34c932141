"""Random selects: SQL in several dialects, and the words that models use instead."""

from random import Random

from tests.fuzz.whole_call.inputs import WORDS

_COLUMNS, _TABLES, _FUNCTIONS, _VALUES, _OPERATORS, _TAILS, _STATEMENTS, _WORDS = (
    WORDS[f"sql_{kind}"]
    for kind in ("columns", "tables", "functions", "values", "operators", "tails", "statements", "words")
)


def make(random: Random) -> str:
    kind = random.randrange(5)
    if kind == 0:
        return random.choice(_STATEMENTS)
    if kind <= 2:
        separator = random.choice(("; ", ", ", " ", " and ", ";"))
        return separator.join(random.choices(_WORDS, k=random.randrange(1, 5)))
    selected = ", ".join(_expression(random) for _ in range(random.randrange(1, 4)))
    condition = "" if random.random() < 0.5 else f" WHERE {_condition(random)}"
    table = random.choice(_TABLES)
    top = random.choice(("", "", "", "TOP 2 ", "DISTINCT "))
    return f"SELECT {top}{selected} FROM {table}{condition}{random.choice(_TAILS)}"


def _expression(random: Random) -> str:
    column = random.choice(_COLUMNS)
    return random.choice((column, column, f"{random.choice(_FUNCTIONS)}({column})", f"{column} / 2 AS half"))


def _condition(random: Random) -> str:
    one = f"{random.choice(_COLUMNS)} {random.choice(_OPERATORS)} {random.choice(_VALUES)}"
    return one if random.random() < 0.7 else f"{one} {random.choice(('AND', 'OR', 'AND NOT'))} {_condition(random)}"
