"""A day of calls as agents make them: the same for the same seed, on every machine.

Users come in sessions. A session has one subject with a Zipf distribution and one or a few topics, mostly several
questions about the same series, sometimes the same for other symbols at once. Prices are requested again minutes later.
Some sessions repeat those of another user. A model gets some arguments wrong, and then right. ``request_mix.yaml`` has
the possible requests.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import yaml

SEED, CALLS, USERS = 20260114, 2000, 40
HOURS: Mapping[int, float] = {
    6: 1, 7: 2, 8: 4, 9: 9, 10: 9, 11: 7, 12: 6, 13: 6, 14: 7, 15: 9, 16: 8, 17: 5, 18: 3, 19: 3, 20: 3, 21: 2,
}  # fmt: skip
"""Hour in New York → how many sessions begin in it, relative to the others."""

SELECT_SHARE = 0.8
"""Share of the questions about a part of an answer in which the model uses ``select``; else it reads the whole."""

MAX_TOKENS_CHOICES, MAX_TOKENS_SHARE = (1000, 2000, 4000, 20000), 0.06
"""``max_tokens``, and the share of the whole answers for which a model sets it."""

NEXT_QUESTION_SHARE, MAX_QUESTIONS = 0.55, 6  # another question about the same series: the mean is about two
REPEAT_SHARE, FRESH_SHARE = 0.3, 0.1  # of prices: requested again minutes later; these with ``fresh``
COMPARE_SHARE, NEXT_TOPIC_SHARE = 0.15, 0.45  # the same for other symbols; another topic
SAME_SESSION_SHARE = 0.12  # a session of another user again
MISTAKE_SHARE, UNKNOWN_SYMBOL_SHARE = 0.1, 0.02  # arguments that are wrong, then right; symbols that do not exist
LIVE_PRICES = frozenset({"GLOBAL_QUOTE", "CURRENCY_EXCHANGE_RATE", "GOLD_SILVER_SPOT"})

Kind = Literal["data", "premium", "wrong", "unknown"]


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """One kind of question: ``request_mix.yaml`` describes its members."""

    weight: float
    tool: str
    subject: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    selects: tuple[str, ...] = ()
    premium: bool = False


_MIX = yaml.safe_load(Path(__file__).with_name("request_mix.yaml").read_text(encoding="utf-8"))
_FUNDS, _STOCKS = _MIX["funds"].split(), tuple(_MIX["stocks"].split())
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "stock": _STOCKS,
    "company": tuple(symbol for symbol in _STOCKS if symbol not in _FUNDS and "." not in symbol),
    "fund": tuple(symbol for symbol in _STOCKS if symbol in _FUNDS),
    **{kind: tuple(names.split()) for kind, names in _MIX["subjects"].items()},
    "": ("",),
}
WRONG_ARGUMENTS: Mapping[str, list[Mapping[str, Any]]] = _MIX["mistakes"]


def _pattern(given: dict[str, Any]) -> RequestPattern:
    selects = given.pop("selects", ())
    return RequestPattern(**given, selects=tuple(_MIX["selects"][selects] if isinstance(selects, str) else selects))


REQUEST_MIX = tuple(map(_pattern, _MIX["patterns"]))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the workload.

    Attributes:
        at: Seconds after midnight in New York.
        kind: Whether it has data, has data for premium keys only, has wrong arguments, or has an unknown symbol.
    """

    at: float
    user: int
    tool: str
    arguments: Mapping[str, Any]
    select: str = ""
    max_tokens: int | None = None
    fresh: bool = False
    kind: Kind = field(default="data")


def generate_calls(calls: int = CALLS, seed: int = SEED) -> list[Call]:
    """Return ``calls`` calls in the order of time."""
    random = Random(seed)
    sessions: list[list[Call]] = []
    count = 0
    while count < calls:
        if sessions and random.random() < SAME_SESSION_SHARE:
            session = _shift_session(random, random.choice(sessions))
        else:
            session = _session(random)
        sessions.append(session)
        count += len(session)
    return sorted(itertools.chain(*sessions), key=lambda call: call.at)[:calls]


def zipf(random: Random, of: Sequence[str]) -> str:
    """Return one of ``of``; the n-th has a weight of 1/n."""
    return random.choices(of, [1 / place for place in range(1, len(of) + 1)])[0]


def _start(random: Random) -> float:
    return (random.choices(list(HOURS), list(HOURS.values()))[0] + random.random()) * 3600


def _user(random: Random) -> int:
    return int(zipf(random, [str(user) for user in range(USERS)]))


def _shift_session(random: Random, session: Sequence[Call]) -> list[Call]:
    """Return the same questions of another user, at another time."""
    later, user = _start(random) - session[0].at, _user(random)
    return [replace(call, at=call.at + later, user=user) for call in session]


def _session(random: Random) -> list[Call]:
    now, user, found = _start(random), _user(random), []
    subject: dict[str, str] = {}  # of each kind one: a session stays with what it is about
    for _ in range(1 + (random.random() < NEXT_TOPIC_SHARE) + (random.random() < NEXT_TOPIC_SHARE**2)):
        pattern = random.choices(REQUEST_MIX, [each.weight for each in REQUEST_MIX])[0]
        about = subject.setdefault(pattern.subject, _subject(random, pattern.subject, subject))
        for call in _questions(random, pattern, about):
            found.append(replace(call, at=now, user=user))
            now += _pause(random)
        if pattern.subject in ("stock", "company") and random.random() < COMPARE_SHARE:
            last = found[-1]
            for other in random.sample(SUBJECTS[pattern.subject][:20], random.randint(1, 3)):
                if last.kind in ("data", "premium"):  # several calls in one step of the model
                    found.append(replace(last, at=now, arguments=fill(pattern.arguments, other)))
                    now += 0.2 + random.random() * 0.3
    for call in [call for call in found if call.tool in LIVE_PRICES and call.kind == "data"]:
        if random.random() < REPEAT_SHARE:
            fresh = random.random() < FRESH_SHARE
            found.append(replace(call, at=call.at + 60 + random.expovariate(1 / 400), fresh=fresh))
    return found


def _pause(random: Random) -> float:
    """Return the seconds until the next call of a session: the model generates, or the user reads."""
    return 2 + random.expovariate(1 / 6) if random.random() < 0.6 else 10 + random.expovariate(1 / 60)


def _subject(random: Random, kind: str, known: Mapping[str, str]) -> str:
    stock = known.get("stock") or known.get("company", "")
    return stock if stock in SUBJECTS[kind] else zipf(random, SUBJECTS[kind])


def _questions(random: Random, pattern: RequestPattern, subject: str) -> list[Call]:
    """Return questions about one series or one topic, without time and user."""
    unknown = "{}" in map(str, pattern.arguments.values()) and pattern.subject in ("stock", "company")
    if unknown and random.random() < UNKNOWN_SYMBOL_SHARE:
        return [Call(0, 0, pattern.tool, fill(pattern.arguments, f"NOSUCH{random.choice('ABCDEF')}"), kind="unknown")]
    right = Call(0, 0, pattern.tool, fill(pattern.arguments, subject), kind="premium" if pattern.premium else "data")
    found = []
    if pattern.tool in WRONG_ARGUMENTS and random.random() < MISTAKE_SHARE:
        changed = {**right.arguments, **random.choice(WRONG_ARGUMENTS[pattern.tool])}
        wrong = {name: value for name, value in changed.items() if value is not None}
        found.append(replace(right, arguments=wrong, kind="wrong"))
    selects = random.sample(pattern.selects, len(pattern.selects))
    for number in range(MAX_QUESTIONS):
        if number and (number > len(selects) - 1 or random.random() > NEXT_QUESTION_SHARE):
            break
        found.append(_part(random, right, selects[number] if selects else ""))
    return found


def _part(random: Random, call: Call, select: str) -> Call:
    if select and random.random() < SELECT_SHARE:
        return replace(call, select=select)
    if select and random.random() < MAX_TOKENS_SHARE:
        return replace(call, max_tokens=random.choice(MAX_TOKENS_CHOICES))
    return call


def fill(arguments: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Return the arguments of a ``RequestPattern`` for one subject."""
    parts = subject.split("/")
    return {
        name: value.replace("{}", subject).format(*parts) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
