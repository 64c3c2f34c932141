"""API keys are found and replaced in every encoding, and an ordinary answer costs little."""

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within, thread_s
from toolfold.redaction import NO_REDACTION, REPLACEMENT, Redactor

KEY = "CANARYKEY0123456"
KEYS = (KEY, "pass/word+987&x=1", 'quo"ted\\back%41slash', "schlüssel-zum-glück", "two words and more")

ENCODINGS = {
    "plain": lambda key: key,
    "lower case": str.lower,
    "upper case": str.upper,
    "JSON": lambda key: json.dumps(key)[1:-1],
    "JSON with escaped slashes": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "JSON with every character escaped": lambda key: "".join(f"\\u{ord(one):04X}" for one in key),
    "JSON with one character escaped": lambda key: key[:3] + f"\\u{ord(key[3]):04x}" + key[4:],
    "JSON in JSON": lambda key: json.dumps(json.dumps(key)),
    "escapes of JavaScript": lambda key: "".join(f"\\x{ord(one):02x}" for one in key),
    "URL": quote,
    "URL, everything reserved": lambda key: quote(key, safe=""),
    "form": quote_plus,
    "URL with every byte encoded": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "URL with one letter encoded": lambda key: f"%{ord(key[0]):02X}{key[1:]}",
    "URL in URL": lambda key: quote(quote(key, safe=""), safe=""),
    "URL in URL, every byte": lambda key: "".join(f"%25{byte:02X}" for byte in key.encode()),
    "URL in JSON": lambda key: "".join(f"\\u0025{byte:02X}" for byte in key.encode()),
    "HTML": html.escape,
    "HTML, decimal": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "HTML, decimal, twice": lambda key: "".join(f"&#{ord(one)};" for char in key for one in f"&#{ord(char)};"),
    "UTF-16 in HTML": "&#0;".join,
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(one):X};" for one in key),
    "HTML in HTML": lambda key: "".join(f"&amp;#{ord(one)};" for one in key),
    "URL in HTML in JSON": lambda key: json.dumps(html.escape(quote(key))).replace("&", "\\u0026"),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 after one byte": lambda key: base64.b64encode(b":" + key.encode() + b":end").decode(),
    "base64 after two bytes": lambda key: base64.b64encode(b"u:" + key.encode() + b"end").decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "base64 in a URL": lambda key: quote(base64.b64encode(key.encode()).decode(), safe=""),
    "base64 in JSON": lambda key: base64.b64encode(key.encode()).decode().replace("/", "\\/"),
    "base64 in lines": lambda key: _in_lines(key, 20, "\n"),
    "base64 in short lines": lambda key: _in_lines(key, 4, "\r\n"),
    "base64 in indented lines": lambda key: _in_lines(key, 7, "\n    "),
    "base64 in lines in JSON": lambda key: json.dumps(_in_lines(key, 20, "\n")),
    "base64 in lines in JSON in JSON": lambda key: json.dumps(json.dumps(_in_lines(key, 20, "\r\n"))),
    "base64 in lines, with escaped ends": lambda key: _in_lines(key, 20, "\\u000a"),
    "base64 in lines in HTML": lambda key: _in_lines(key, 20, "&#13;&#10;"),
    "base64 in lines in a URL": lambda key: quote(_in_lines(key, 20, "\r\n")),
    "base64 twice": lambda key: base64.b64encode(base64.b64encode(b"user:" + key.encode())).decode(),
    "base64 twice, after a byte": lambda key: base64.b64encode(b":" + base64.b64encode(b":" + key.encode())).decode(),
    "base64 twice in lines": lambda key: _in_lines(base64.b64encode(key.encode()).decode(), 20, "\n"),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal in upper case": lambda key: key.encode().hex().upper(),
    "CSV": lambda key: key.replace('"', '""'),
    "UTF-16": lambda key: key.encode("utf-16-le").decode(errors="replace"),
    "UTF-16 in JSON": lambda key: "".join(f"{one}\\u0000" for one in key),
    "UTF-16 in a URL": lambda key: "".join(f"{quote(one, safe='')}%00" for one in key),
    "UTF-16 in JSON in JSON": lambda key: json.dumps(json.dumps("\0".join(key))),
}  # fmt: skip


def _in_lines(key: str, width: int, end: str) -> str:
    encoded = base64.b64encode(b"a user's name:" + key.encode() + b"\n").decode()
    return end.join(encoded[at : at + width] for at in range(0, len(encoded), width))


class TestEncodings:
    # R13
    @pytest.mark.parametrize("encoding", ENCODINGS)
    def test_a_key_is_found_and_replaced(self, encoding: str) -> None:
        for key in KEYS:
            if encoding.startswith("UTF-16") and not key.isascii():
                continue  # such a text is no UTF-8
            redactor = Redactor((key,))
            echo = f"before {ENCODINGS[encoding](key)} after"
            assert redactor.appears_in(echo), key
            redacted = redactor.redact_text(echo)
            assert REPLACEMENT in redacted
            assert not redactor.appears_in(redacted), key

    @given(
        st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40),
        st.lists(st.sampled_from([quote, html.escape, lambda text: json.dumps(text)[1:-1]]), max_size=3),
        st.text(max_size=20),
    )
    def test_encodings_on_top_of_each_other_are_found(self, key: str, encodings: list[Any], around: str) -> None:
        echo = key
        for encode in encodings:
            echo = encode(echo)
        redactor = Redactor((key,))
        assert redactor.appears_in(f"{around}{echo}{around}")
        assert not redactor.appears_in(redactor.redact_text(f"{around} {echo} {around}"))


BASIC = base64.b64encode(f"user:{KEY}".encode()).decode()


@pytest.mark.parametrize(
    ("keys", "text", "redacted"),
    [
        ((KEY, "OPERATORKEY98765"), f"{KEY} and operatorkey98765", "[key] and [key]"),
        # Words beside an encoded key stay, and a key with backslashes is found behind escapes.
        ((KEY,), f"date,value\n2026-01-01,{BASIC},5\n2026-01-02,1", "date,value\n2026-01-01,[key],5\n2026-01-02,1"),
        *((("Ff\\61cC3",), text, "i [key]") for text in (r"i Ff\\61cC3", r"i Ff\\\\61cC3", "i Ff\\61cC3")),
        # A short key is replaced as a word, also where it is escaped.
        (("demo",), "your key demo, demographic data", "your key [key], demographic data"),  # R13
        (("a/b",), "key=a%2Fb", REPLACEMENT),
    ],
)
def test_keys_alone_are_replaced(keys: tuple[str, ...], text: str, redacted: str) -> None:
    redactor = Redactor(keys)
    assert redactor.appears_in(text)
    assert redactor.redact_text(text) == redacted


def test_a_short_key_is_replaced_in_values_and_an_answer_with_it_in_a_word_is_not_shared() -> None:
    assert Redactor(("demo",)).redact_value({"key": "demo"}) == {"key": REPLACEMENT}
    assert Redactor(("demo",)).appears_in("xdemox")


class TestValues:
    def test_names_numbers_and_texts_are_redacted_at_any_depth(self) -> None:
        redactor = Redactor(("12345678", KEY))
        value = {"a": [12345678, 3.5, True, None, {KEY: 1}], f"url {KEY}": 912345678.5}
        assert redactor.redact_value(value) == {
            "a": [REPLACEMENT, 3.5, True, None, {REPLACEMENT: 1}],
            f"url {REPLACEMENT}": REPLACEMENT,
        }

    def test_members_whose_names_differ_in_the_key_stay_apart(self) -> None:
        redacted = Redactor((KEY,)).redact_value({KEY: 1, KEY.lower(): 2, REPLACEMENT: 3})
        assert sorted(redacted.values()) == [1, 2, 3]

    def test_a_deeply_nested_value_is_redacted(self) -> None:
        value: Any = KEY
        for _ in range(50_000):
            value = [value]
        redacted = Redactor((KEY,)).redact_value(value)
        while isinstance(redacted, list):
            redacted = redacted[0]
        assert redacted == REPLACEMENT

    def test_without_keys_a_value_is_returned_as_it_is(self) -> None:
        value = {"a": [1]}
        assert NO_REDACTION.redact_value(value) is value
        assert not NO_REDACTION.appears_in("anything")
        assert Redactor(("",)).redact_text("") == ""

    @given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=20))
    def test_a_value_without_the_key_does_not_change(self, value: Any) -> None:
        assert repr(Redactor((KEY,)).redact_value(value)) == repr(value)


@pytest.mark.parametrize(
    "line",
    ["2026-01-13,100.0000,98.5,101.25\n", '{"date": "2026-01-13", "value": "100.0"},', '"AT\\u0026T, 5% of \\"x\\"",'],
    ids=["CSV", "JSON", "JSON with escapes"],
)
def test_searching_a_large_answer_takes_little_time(line: str) -> None:
    redactor, text = Redactor((KEY, "OPERATORKEY98765")), line * (5_000_000 // len(line))
    with cpu_within(3):  # a search that is not linear takes minutes
        assert not redactor.appears_in(text)


@pytest.mark.parametrize(
    "piece", ["\\", "%", "&", "%25", "&amp;", "\\u004b", "&#75;", "a", "&#0", "\0", "\\u{00", "\\n", "\r\n", "YWFh\n"]
)
def test_text_made_of_escapes_takes_linear_time(piece: str) -> None:
    def seconds(characters: int) -> float:
        redactor, text = Redactor(("a" * 511 + "K",)), piece * (characters // len(piece))
        return thread_s(lambda: redactor.redact_text(text))

    assert seconds(800_000) < 40 * max(seconds(80_000), 0.002)


def test_redacting_lines_of_base64_among_white_space_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        redactor, text = Redactor((KEY,)), "\n" * count + _in_lines(KEY, 20, "\n") + "\n " * count
        assert REPLACEMENT in redactor.redact_text(text)
        return thread_s(lambda: redactor.redact_text(text))

    assert seconds(400_000) < 40 * max(seconds(40_000), 0.002)
