"""Find what the texts of sources must not have: prompt injection, and keys that were typed into ``source.yaml``.

A model reads the description of a tool in every conversation that uses the tool. :func:`find_prompt_injection` finds
known forms of text that address the model: instructions, requests for secrets, chat role markers, invisible characters,
and markup that loads or hides content. It does not find every attack, so that descriptions still need a code review.

All that can read the catalog can read the keys in it. To :func:`find_typed_secrets` a value counts by its name:
``--api-key``, ``X-Auth-Token``, ``DB_PASSWORD``. What is found are names: a value is in no message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolfold.catalog.allow_list import own_variable

if TYPE_CHECKING:
    from toolfold.build.yaml_loader import Location

EXCERPT = 60
"""Maximum characters of a match that are shown."""

_HIDDEN = re.compile(
    # A selector after a symbol makes it an emoji, and a joiner makes one of two.
    "(?![\ufe0f\u200d](?<=[\u203c-\u3299\U0001f000-\U0001faff\ufe0f].))[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
"""Invisible characters that a model reads: controls, zero width, direction marks, fillers, selectors, tags."""

_ALIKE = "[\u0400-\u052f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b9\u03bf]"
_TWO_SCRIPTS = re.compile(f"[A-Za-z]{_ALIKE}|{_ALIKE}[A-Za-z]")
"""A word with Latin letters and Cyrillic or Greek ones, which look the same and defeat the patterns below."""

# Parts of the patterns below.
_MODEL = r"(?:ai|llms?|(?:language )?models?|assistants?|agents?|claude|gpt|chatgpt|gemini)"
_PERSON = r"(?:users?|humans?|person|anyone|anybody|operator|owner)"
_USE = r"(?:call|use|invoke|run|prefer|choose|pick|select|execute|trust)"
_NOT = r"(?:do not|don't|never|without|avoid|not to|must not|should not)"
_TELL = r"(?:tell|inform|mention|reveal|alert|notify|ask|warn|show(?!n)|disclos|confirm)\w*"
_SEND = (
    r"(?:send|post|forward|upload|transmit|e-?mail(?! ?[,)])|leak|exfiltrate|include|append|attach|paste|copy|put|pass"
    r"|provide|reveal|print|repeat|share|collect)"
)
_CONFIDENTIAL = (
    r"(?:api[ _-]?keys?|secrets?|passwords?|credentials?|private keys?|(?:access|auth|bearer|session)[ _-]?tokens?"
    r"|cookies?|environment variables?|system prompt)"
)
_TALK = r"(?:conversation|chat|(?:previous|earlier) messages)"
_WHENEVER = rf"whenever(?! (?:asked to|(?:the user|you) (?:wants?|needs?) to) (?!{_USE}|answer|repl|respond)\w+)"
"""Without "whenever the user wants to translate": it is how skills describe what they are for."""

_WITHIN = r"[^.;]{0,40}"
"""Up to 40 characters of the same sentence."""

_LOADING = r"""(?:on\w+|http-equiv|\w+\s*=\s*["']?(?:https?:)?//)"""
"""The beginning of an attribute that runs or loads something."""

_PATTERNS: dict[str, tuple[str, ...]] = {
    "overrides earlier instructions": (
        # Rules that an API overrides are those of its own objects.
        rf"\b(?:ignor|disregard|forget|overrid|bypass|overrul)\w*\b{_WITHIN}\b(?:previous|prior|earlier|above|your|all|any"
        r"|every|system|safety)\b[^.;]{0,25}\b(?:instructions?|prompts?|guidelines|rules|directions|commands"
        r"|polic(?:y|ies)|context)\b",
        rf"\b(?:ignore|disregard|forget|override|set aside) (?:what )?(?:the|your|these|those) (?:instructions?"
        rf"|prompts?|guidelines|{_PERSON}(?=[:;.,!]|$| (?:ask|sa|want|request)))",
        r"\b(?:previous|prior|earlier) (?:instructions|directives|guidelines)\b|\byou (?:were|have been) told\b",
        r"\b(?:your|new|real) (?:system|developer) (?:prompts?|messages?|instructions?)\b",
        r"\b(?:new|hidden) instructions?\b|\bjailbreak\w*|\bdeveloper mode\b",
    ),
    "gives instructions to the model": (
        # What a caller must do with this tool alone is about its arguments.
        rf"\b(?:you|(?:the|any|every|this) {_MODEL}) (?:must|shall|have to|are required to)\b[^.;]{{0,60}}"
        rf"\b(?:{_TELL} (?:\w+ )?{_PERSON}|answer\w*|repl(?:y|ies)|respond\w*|chat|conversation|anything|everything"
        r"|other tools?|(?:any|every) (?:tool|time|question|message|prompt|turn))\b",
        rf"\b(?:you|(?:the|any|every|this) {_MODEL}) (?:(?:are|will) now|are no longer)\b",
        r"\b(?:if|when) (?:\w+ )?asked\b[^.;]{0,60}\b(?:respond|reply|answer|say)\b",
        rf"\balways {_USE} this(?: tool| one| function)?(?=\W*$|[.;,!]| (?:for|when|if|before)\b)",
        rf"\b(?:never|not|n't) {_USE} (?:any |the )?other\b|\b{_USE} only this(?: tool| one)?(?=\W*$|[.;!])",
        rf"\b(?:{_USE}|using) this (?:tool |one |function )?first\b",
        rf"\b(?:{_USE}|using) this (?:tool |function |one )?[^.;]{{0,30}}\b(?:always|{_WHENEVER}|even if"
        # Any file or symbol is the tool's own use.
        r"|for (?:anything|everything|(?:all|every|any) (?:[\w-]+ ){0,2}(?:questions?|requests?|tasks?|search\w*"
        r"|quer\w+|needs?|purposes?|messages?|topics?|conversations?))|(?:over|before) (?:any\w*|every\w*|all|each"
        r"|others?|them|it|answering|(?:calling|using) (?:any\w*|other|all)))\b",
        r"\b(?:before|after|instead of|than) (?:\w+ing )?(?:any|all|every|each) (?:of the )?other tools?\b",
        # How to find a value of an argument is for every caller.
        rf"\b(?:attention|note to|dear|hey|hello|instructions? (?:for|to))\W{{1,3}}(?:the |all |any )?{_MODEL}[:,!]"
        r"(?! (?:if unsure, )?use the\b)",
        r"(?:^|[.;:!] )(?:please )?(?:act as (?:an?|if|the)|pretend|from now on|roleplay)\b",
        rf"\bas an? {_MODEL},? you\b|\byour (?:new )?(?:task|role|goal|job|mission) is\b",
    ),
    "hides something from the user": (
        # A user who need not choose is not deceived.
        rf"\b{_NOT}\b[^.;]{{0,20}}\b{_TELL}\b[^.;]{{0,30}}\b{_PERSON}\b(?! to (?!confirm|approve|agree))",
        rf"\b{_NOT} (?:reveal|mention|disclose) (?:that|this|it)\b|\bsecret from (?:the |your )?{_PERSON}\b",
        rf"\b(?:hide|hidden|conceal|keep)\b{_WITHIN}\bfrom (?:the |your )?{_PERSON}\b",
        r"\b(?:secretly|covertly|silently) (?:send|call|add|include|read|run|post|upload|forward)\w*\b",
        r"\bwithout (?:asking|telling|the user|confirmation|consent|permission)\b",
    ),
    "asks for secrets or files": (
        rf"\b{_SEND}\b{_WITHIN}\b(?:your|their|the user's|the|all|any|every)\b[^.;]{{0,20}}\b{_CONFIDENTIAL}\b",
        rf"\b{_SEND}\b(?: the|{_WITHIN}\b(?:your|this|our|all|every|full|whole|entire|complete)\b[^.;]{{0,20}})"
        rf" {_TALK}\b",
        r"/etc/(?:passwd|shadow)|\bid_(?:rsa|ed25519)\b|\.aws/credentials|\bmcp\.json\b",
        rf"\b(?:{_SEND}|read|open|cat|load|fetch|get|add|access|use|show|look into)\b[^;]{{0,40}}"
        r"(?:~/\.\w+|\.ssh\b|(?<!\w)\.env\b)",
        rf"\b(?:curl|wget)\b{_WITHIN}https?:|\|\s*(?:ba)?sh\b|\brm -rf\b|\beval\([^)]|\bos\.environ\b",
    ),
    "contains chat role markers": (
        r"<\|?/?(?:system|im_start|im_end|assistant|user|human|endoftext|eot_id|tool_(?:call|result)|instructions?"
        r"|important|s|secret|admin)(?:\|?>| \w+=[^>]{0,40}>)|```(?:system|assistant)\b",
        r"\[/?(?:inst|system|sys|assistant)\]|<</?sys>>",
        r"(?:^|[.;!] )\W{0,3}(?:system|assistant|human)\W{0,2}:",
        r"#{2,} ?(?:instructions?|system|response|assistant) ?:",
    ),
    "contains a URL with credentials": (
        r"\b[a-z][a-z0-9+.-]*://[^\s/@:]+:[^\s/@]+@",
        r"[?&](?:api_?-?key|token|secret|password|access_?key|auth)=[^\s&<{$]{4}",
    ),
    "contains markup that loads or hides content": (
        # A link is no more than the address in it, and the name of an element is text.
        r"!\[[^\]]*\]\s?(?:\(<?(?:https?:)?//|\[)",
        rf"<(?:script|iframe|img|svg|object|style|form|link|meta|details)\b[^<>]{{0,200}}?(?:\s{_LOADING}|>[^<>]+</)",
        r"<!--\s*\w|\bjavascript:|\bdata:(?:text/(?:html|javascript)|image/svg|application/\w)[\w+.-]*[;,]",
    ),
    "contains encoded data": (
        # A long name has no digits or one case, a path short parts.
        r"(?-i:(?<![A-Za-z0-9+])(?=[A-Za-z0-9+]{24})(?=[A-Z0-9+]*[a-z])(?=[a-z0-9+]*[A-Z])(?=[A-Za-z+]*[0-9])[\w+/-]{40})",
        r"(?:\\x[0-9a-f]{2}){4}|(?:%[0-9a-f]{2}){6}|(?:&#x?[0-9a-f]+;){3}",
    ),
}
"""Kind of injection → patterns that show it."""

_COMPILED = {kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _PATTERNS.items()}


@lru_cache(maxsize=20_000)
def find_prompt_injection(text: str) -> tuple[tuple[str, str], ...]:
    """Return each kind of injection in ``text`` once, with an excerpt: ``(kind, excerpt)``.

    Tools of one source share definitions, and with them hundreds of texts, so that findings are kept.
    """
    findings: list[tuple[str, str]] = []
    if hidden := sorted(set(_HIDDEN.findall(text))):
        findings.append(("contains invisible characters", " ".join(f"U+{ord(sign):04X}" for sign in hidden[:4])))
    # Normalized to what a model reads: styled letters, line breaks and invisible characters do not hide a word.
    plain = " ".join(unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).replace("’", "'").split())
    if mixed := _TWO_SCRIPTS.search(plain):
        around = plain[max(0, mixed.start() - 20) : mixed.end() + 20]
        findings.append(("mixes Latin and Cyrillic letters", _excerpt(around)))
    for kind, pattern in _COMPILED.items():
        if found := pattern.search(plain):
            findings.append((kind, _excerpt(found.group())))
    return tuple(findings)


def _excerpt(found: str) -> str:
    found = found.strip(" .;:!")
    return ascii(found if len(found) <= EXCERPT else found[: EXCERPT - 1] + "…")


def texts_in(value: Any, at: Location = ()) -> Iterator[tuple[Location, str]]:
    """Yield each text in a JSON value with its location, keys included."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield (*at, key), key
            yield from texts_in(inner, (*at, key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from texts_in(inner, (*at, number))


PROBLEM = "its value looks like a secret, and the catalog shows it to all who read it"

_NAMED = (
    r"(?!(?:public|primary|foreign|sort|cache|idempotency|group|max|page|next|no)[-_])"
    r"[\w.-]*(?:key|token|secret|password|passwd|passphrase|pwd|jwt|authorization|bearer|cookie|credentials?"
    r"|(?<![a-z])(?:pass|pat))"
)
SECRET_NAME = re.compile(rf"{_NAMED}|(?:[\w-]+[-_])?sig(?:nature)?|app[-_]?id|auth", re.IGNORECASE)
"""Names of parameters of a URL that hold a key, which is never written into the catalog."""

_TYPED = re.compile(
    rf"(?<![\w.-])(?P<name>(?>-{{0,2}}){_NAMED})"
    # A value that only names a secret begins with $NAME, ${NAME}, <your key>, or is a reference of AWS.
    r"(?:\s*[=:]\s*|\s+)(?!(?:(?:Bearer|Basic|Token)\s+)?[\"']?(?:[$<-]|%\w+%|\{\{|arn:|ssm:))\S"
    r"|://[^/@:\s]*:[^/@\s]+@",
    re.IGNORECASE,
)
"""``--token=VALUE``, ``--token VALUE``, ``KEY=VALUE``, ``Authorization: VALUE``, and a URL with a password."""


def find_typed_secrets(settings: Mapping[str, Any]) -> list[tuple[Location, str, str]]:
    """Return what looks like a secret in the content of ``source.yaml``, by its name.

    Returns:
        For each: where it is, its name, and how the key is given instead.

    Example:
        >>> settings = {"id": "w", "args": ["--api-key", "abc123"]}
        >>> [(at, name) for at, name, _ in find_typed_secrets(settings)]
        [(('args', 1), '--api-key')]
    """
    texts: dict[Location, str] = {(key,): str(settings.get(key)) for key in ("url", "base_url")}
    before = ""
    for number, argument in enumerate(given if isinstance(given := settings.get("args"), list) else ()):
        word = str(argument)
        texts["args", number] = f"{before} {word}" if before.startswith("-") and "=" not in before else word
        before = word
    for key in ("env", "headers"):
        given = settings.get(key)
        texts |= {(key, name): f"{name}={value}" for name, value in given.items()} if isinstance(given, dict) else {}
    found = []
    for at, text in texts.items():
        if typed := _TYPED.search(text):
            of_program = "key_variable: NAME_THAT_THE_PROGRAM_READS and " if at[0] in ("args", "env") else ""
            advice = f"leave it out, add {of_program}auth, and set {own_variable(str(settings.get('id', '')))}"
            found.append((at, typed["name"] or "password", advice))
    return found
