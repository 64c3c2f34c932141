"""Make inputs, and new inputs from old ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tests.fuzz.whole_call import selects, shapes
from tests.fuzz.whole_call.inputs import ENCODINGS, WORDS, CallInput

_KEYS = WORDS["keys"]
_OPTIONS = WORDS["options"]
_SELECTS = WORDS["selects"]
_ODD_VALUES = WORDS["odd_values"]
_STATUSES = ("200 OK",) * 14 + tuple(WORDS["statuses"])
_HEADERS = WORDS["headers"]
_FRAMINGS = ("length",) * 20 + ("chunked",) * 3 + ("close",) * 2 + ("gzip",) * 2 + ("short", "long", "cut", "none")
_TOKENS = WORDS["tokens"]


class Generator:
    """Make inputs from a seed.

    Args:
        random: decides everything.
        calls: tool → an example of its arguments.
        samples: tool → bodies as its upstream sends them.
    """

    def __init__(self, random: Random, calls: dict[str, dict[str, Any]], samples: dict[str, list[str]]) -> None:
        self.random, self.calls, self.samples = random, calls, samples
        self.tools = [
            *sorted(calls),
            *["WTI", "GLOBAL_QUOTE", "TIME_SERIES_DAILY", "LISTING_STATUS", "SMA", "NEWS_SENTIMENT"] * 6,
        ]

    def new(self) -> CallInput:
        """Return an input that resembles no other."""
        random = self.random
        tool = random.choice(self.tools)
        sent = CallInput(tool=tool, arguments=dict(self.calls[tool]))
        for change, share in (
            (self._key, 0.6),
            (self._arguments, 0.2),
            (self._options, 0.5),
            (self._select, 0.35),
            (self._response, 0.3),
            (self._delivery, 0.5),
        ):
            if random.random() < share:
                sent = change(sent)
        sent = replace(
            sent, body=(random.choice(self.samples[tool]),) if random.random() < 0.4 else shapes.make(random)
        )
        while random.random() < 0.5:
            sent = self._body(sent)
        return sent

    def changed(self, sent: CallInput, others: Sequence[CallInput]) -> CallInput:
        """Return an input with one to four changes."""
        random = self.random
        kinds: list[Callable[[CallInput], CallInput]] = [
            *(self._key, self._arguments, self._options, self._select, self._select, self._response, self._delivery),
            *(self._body, self._body, self._body, self._body, lambda old: self._crossed(old, random.choice(others))),
        ]
        for _ in range(random.choice((1, 1, 2, 4))):
            sent = random.choice(kinds)(sent)
        return sent

    def _crossed(self, sent: CallInput, other: CallInput) -> CallInput:
        part = self.random.randrange(4)
        if part == 0:
            return replace(sent, body=other.body)
        if part == 1:
            return replace(sent, tool=other.tool, arguments=other.arguments)
        if part == 2:
            return replace(sent, key=other.key, carrier=other.carrier)
        return replace(sent, options=other.options, status=other.status, headers=other.headers, framing=other.framing)

    def _key(self, sent: CallInput) -> CallInput:
        random = self.random
        kind = random.randrange(6)
        if kind == 0:
            return replace(
                sent, key="".join(random.choices('ABCDEFabcdef0123456789/+=%-_\\"', k=random.choice((4, 8, 16, 40))))
            )
        if kind == 1:
            return replace(sent, key="")
        if kind == 2 and (text := sent.template()):
            at = random.randrange(len(text))
            return replace(sent, key=text[at : at + random.choice((1, 4, 8, 15, 60))].replace("\n", " "))
        return replace(sent, key=random.choice(_KEYS))

    def _arguments(self, sent: CallInput) -> CallInput:
        random = self.random
        kind = random.randrange(8)
        if kind == 0 or not isinstance(sent.arguments, dict):
            tool = random.choice(self.tools)
            return replace(sent, tool=tool, arguments=dict(self.calls[tool]))
        arguments = dict(sent.arguments)
        if kind <= 3:
            arguments["datatype"] = random.choice(("json", "csv", "csv", "json", "xml"))
        elif kind == 4 and arguments:
            del arguments[random.choice(list(arguments))]
        elif kind == 5:
            arguments[random.choice(["symbol", "interval", "x", "apikey", "function", "é", ""])] = random.choice(
                _ODD_VALUES
            )
        elif arguments:
            arguments[random.choice(list(arguments))] = random.choice(_ODD_VALUES)
        return replace(sent, arguments=arguments)

    def _options(self, sent: CallInput) -> CallInput:
        kept = {name: value for name, value in sent.options.items() if name == "select"}
        return replace(sent, options={**kept, **self.random.choice(_OPTIONS)})

    def _select(self, sent: CallInput) -> CallInput:
        random = self.random
        select = selects.make(random) if random.random() < 0.5 else random.choice(_SELECTS)
        if random.random() < 0.2 and isinstance(select, str):
            at = random.randrange(len(select) + 1)
            select = select[:at] + random.choice(_TOKENS) + select[at + random.choice((0, 1, 4)) :]
        return replace(sent, options={**sent.options, "select": select})

    def _response(self, sent: CallInput) -> CallInput:
        random = self.random
        kind = random.randrange(4)
        if kind == 0:
            return replace(sent, status=random.choice(_STATUSES))
        if kind == 1:
            return replace(sent, headers=tuple(random.sample(_HEADERS, random.choice((0, 1, 1, 2)))))
        # A stalled response lasts until the time-out of every call of the input.
        return replace(sent, framing="stall" if random.random() < 0.001 else random.choice(_FRAMINGS))

    def _delivery(self, sent: CallInput) -> CallInput:
        random = self.random
        kind = random.randrange(4)
        if kind == 0:
            return replace(sent, transport=random.choice(("event", "event", "http")))
        if kind == 1:
            return replace(sent, carrier=random.choice(("bearer", "bearer", "x-api-key", "query")))
        if kind == 2:
            return replace(sent, served_to=random.choice(("all", "caller", "caller")))
        return replace(sent, times=random.choice((1, 1, 1, 2, 6)))

    def _body(self, sent: CallInput) -> CallInput:
        random = self.random
        body = list(sent.body) or [""]
        at = random.randrange(len(body))
        kind = random.randrange(8)
        if kind == 0:
            return replace(sent, body=(random.choice(self.samples[sent.tool]) if sent.tool in self.samples else "",))
        if kind == 1:
            return replace(sent, body=shapes.make(random))
        part = body[at]
        if isinstance(part, dict):
            part = body[at] = dict(part)
            if kind < 5:
                part["times"] = random.choice((0, 1, 2, 3, 5, 10, 50) * 10 + (500, 500, 3000))
            else:
                part["repeat"] = self._text(str(part["repeat"]))
        else:
            body[at] = self._text(part)
        return replace(sent, body=tuple(body))

    def _text(self, text: str) -> str:
        random = self.random
        at = random.randrange(len(text) + 1)
        to = min(len(text), at + random.choice((1, 1, 2, 8, 64)))
        kind = random.randrange(8)
        if kind == 0:
            return text[:at] + text[to:]
        if kind == 1:
            return text[:at] + text[at:to] * random.choice((2, 3, 50)) + text[to:]
        if kind == 2:
            return text[:at]
        if kind == 3:
            return text[:at] + "".join(chr(0xDC80 + random.randrange(128)) for _ in range(2)) + text[to:]
        if kind in (4, 5):
            return text[:at] + f"<<{random.choice(list(ENCODINGS))}>>" + text[random.choice((at, at, to)) :]
        return text[:at] + random.choice(_TOKENS) + text[random.choice((at, to)) :]
