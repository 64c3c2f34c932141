"""Every setting: its type, how its text is parsed and its default; and the settings in force.

``meanings.toml`` says what each means, and a test compares ``docs/reference/settings.md`` with both. A parser is a
function of a variable's name and text: it returns the value, or raises :class:`SettingsError`, which names the variable
and what it must be.
"""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import os
import re
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from toolfold.errors import SettingsError

Parser = Callable[[str, str], Any]

PREFIX = "TOOLFOLD_"
_TABLE = "dynamodb://"
SECRETS = ("TOOLFOLD_APPROVAL_SECRET", "TOOLFOLD_TOKEN_SECRET")
HIDDEN = (*SECRETS, "TOOLFOLD_KEY_SALT")
"""Settings whose values are shown nowhere."""

DAY_S = 86400.0
"""The longest time-out, and the longest that a presigned URL of a role is valid."""

_TRUE = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off", "none")
"""What people write to switch something off that has a file or a folder: as its name, each would create that file."""
_MAX_NUMBER = 1e12
"""Integers and floats beyond it fail where they are used, in SQLite and in time arithmetic."""
_LOCAL = r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"

MODE_SYNONYMS: Mapping[str, str] = {"individual": "direct", "legacy": "inline"}
"""What other systems call a mode → the mode."""


def text(name: str, value: str) -> str:
    """Return a text. Python decodes bytes that are not UTF-8 to surrogates, which can be neither hashed nor sent."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{name} must be valid UTF-8.") from None
    return value


def boolean(name: str, value: str) -> bool:
    """Return whether a text means true."""
    if value.lower() not in (*_TRUE, *_OFF, ""):
        raise _mistake(name, "true or false", value)
    return value.lower() in _TRUE


def number(low: float = 0.0, high: float = _MAX_NUMBER, *, whole: bool = False, zero: int | None = -1) -> Parser:
    """Return the parser of a number above 0, from ``low`` to ``high``; ``zero``: what 0 and empty mean, -1: nothing."""

    def parse(name: str, value: str) -> float | int | None:
        try:
            found = float(value or 0)
        except ValueError:
            found = -1.0
        if found == 0 and zero != -1:
            return zero
        if not (low <= found <= high and found > 0) or (whole and not found.is_integer()):
            limits = f"from {low:g} to {high:g}" if low else "above 0" + f" and at most {high:g}" * (high < _MAX_NUMBER)
            raise _mistake(name, f"a {'whole ' if whole else ''}number {limits}", value)
        return int(found) if whole else found

    return parse


def choice(*values: str) -> Parser:
    """Return the parser of one of ``values``, or of a synonym, in upper or lower case."""
    known = {value.lower(): value for value in values}
    known |= {synonym: value for synonym, value in MODE_SYNONYMS.items() if value in values}

    def parse(name: str, value: str) -> str:
        if value.lower() not in known:
            raise _mistake(name, f"one of {', '.join(one or 'empty' for one in values)}", value)
        return known[value.lower()]

    return parse


def pattern(regex: str, must: str, *, is_shown: bool = True, off: str | None = None) -> Parser:
    """Return the parser of a text that is empty, matches ``regex``, or is a word for off, which becomes ``off``."""

    def parse(name: str, value: str) -> str:
        if off is not None and value.lower() in _OFF:
            return off
        if value and not re.fullmatch(regex, text(name, value)):
            raise _mistake(name, must, value if is_shown else None)
        return value

    return parse


def items(regex: str, must: str, *, lower: bool = False, is_shown: bool = True) -> Parser:
    """Return the parser of texts that match ``regex``, separated by commas."""
    parse = pattern(regex, f"{must}, separated by commas", is_shown=is_shown)
    return lambda name, value: tuple(parse(name, item) for item in split_items(value.lower() if lower else value))


def split_items(value: str) -> list[str]:
    """Split a text at its commas; empty items are left out."""
    return [item.strip() for item in value.split(",") if item.strip()]


def _mistake(name: str, must: str, value: str | None) -> SettingsError:
    shown = "" if value is None else f", not {value[:200]!a}"  # as much as says which
    return SettingsError(f"{name} must be {must}{shown}.")


timeout = number(high=DAY_S)
duration = number()
size = number(whole=True)
optional_count = number(whole=True, zero=None)
kind_mode = choice("", "progressive", "inline", "off")
https_url = pattern(rf"(https://[^\s/?#@]+|{_LOCAL})(/[^\s?#]*)?", "a URL that begins with https://")
secret = pattern(
    r"(?s:(arn:|ssm:).*|.{32,})", "a text of at least 32 characters, or the ARN of a secret", is_shown=False
)
log_file = pattern(r"(?s:.*)", "a file", off="")
hosts = items(
    r"([a-z][a-z0-9_]*=)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]{1,5})?",
    "host names without https:// and path",
    lower=True,
)


class Setting(NamedTuple):
    """A setting: ``default`` is the text parsed where the variable is not set.

    ``open_default``: the same where every client may call, which is a limit to what an unknown caller can cost.
    """

    parse: Parser
    default: str = ""
    open_default: str = ""


setting: Callable[..., Any] = Setting
"""Made in the place of the value of a field, which :meth:`Settings.from_environment` reads."""


class BuiltInSource(NamedTuple):
    """What a source with an adapter in this package may name without a setting: the variable of its key, its host."""

    variable: str
    host: str


BUILT_IN_SOURCES = {"alpha_vantage": BuiltInSource("ALPHA_VANTAGE_API_KEY", "www.alphavantage.co")}
"""Id of a source → what it may name. Here, and not beside the adapter: the first response does not import adapters."""


class Settings(SimpleNamespace):
    """The settings in force, with times in seconds and sizes in bytes. The field ``x`` is the variable ``TOOLFOLD_X``.

    Immutable; ``repr`` hides salt and secret. A plain class, whose class variables say how the fields are read:
    making a named tuple or a dataclass of so many fields takes 2 to 3 ms of a cold start.
    25 s is below the 30 s after which an HTTP API gives up; 25 MB holds the longest histories of the sources.
    """

    stage: str = setting(text)
    access: str = setting(choice("", "iam", "oauth", "open"))
    catalog: str = setting(text)
    mode: str = setting(choice("", "progressive", "lazy", "grouped", "direct", "kinds", "auto", "research"))
    connector_mode: str = setting(kind_mode)
    database_mode: str = setting(kind_mode)
    mcp_mode: str = setting(kind_mode)
    skill_mode: str = setting(kind_mode)
    batch: bool = setting(boolean, "true")
    pipe: bool = setting(boolean, "true")
    scripts: bool = setting(boolean, "true")
    catalog_max_age_s: float = setting(duration, "60")
    s3_timeout_s: float = setting(timeout, "5")
    source_keys: str = setting(
        pattern(
            r"(ssm:/?|arn:aws[a-z-]*:(secretsmanager|ssm):)[A-Za-z0-9/_+=.@:-]+",
            "the ARN of a secret or parameter, or ssm:/NAME, without a #FIELD. The keys themselves do not belong there",
            is_shown=False,  # what is no reference may be the keys
        )
    )
    key_variables: tuple[str, ...] = setting(items(r"([a-z][a-z0-9_]*=)?[A-Za-z_][A-Za-z0-9_]*", "names of variables"))
    allowed_hosts: tuple[str, ...] = setting(hosts)
    private_hosts: tuple[str, ...] = setting(hosts)
    allowed_commands: tuple[str, ...] = setting(
        items(r"(?![a-z][a-z0-9_]*=$)([a-z][a-z0-9_]*=)?(?=[^\s])([^\"'\\]|\"[^\"]+\"|'[^']+'|\\.)+", "commands")
    )
    connect_timeout_s: float = setting(timeout, "5")
    timeout_s: float = setting(timeout, "25")
    deadline_margin_s: float = setting(timeout, "1")
    max_response_bytes: int = setting(size, "25000000")
    cache: str = setting(
        pattern(rf"{_TABLE}[A-Za-z0-9_.-]+|((?!://).)*", "empty, memory, off, a path or dynamodb://table", off="off")
    )
    cache_bucket: str = setting(pattern(r"s3://[a-z0-9].*", "empty or s3://bucket/prefix"))
    cache_memory_bytes: int = setting(size, "32000000")
    cache_file_bytes: int = setting(size, "256000000")
    cache_timeout_s: float = setting(timeout, "0.3")
    cache_cooldown_s: float = setting(duration, "30")
    stale_if_error_s: float = setting(number(whole=True, zero=0), "86400")
    no_data_ttl_s: float = setting(duration, "300")
    negative_ttl_s: float = setting(duration, "300")
    key_salt: str = setting(text)
    requests_per_day: int | None = setting(optional_count)
    requests_per_second: float | None = setting(number(zero=None))
    calls_per_minute: int | None = setting(optional_count, "", "60")
    calls_per_day: int | None = setting(optional_count, "", "500")
    max_queue_wait_s: float = setting(timeout, "3")
    quota_recheck_s: float = setting(duration, "3600")
    retries: int = setting(number(whole=True, zero=0), "2")
    retry_backoff_s: float = setting(duration, "0.3")
    breaker_failures: int = setting(size, "5")
    breaker_cooldown_s: float = setting(duration, "30")
    secret_ttl_s: float = setting(duration, "300")
    secret_timeout_s: float = setting(timeout, "2")
    max_tokens: int = setting(size, "8000")
    max_tokens_ceiling: int = setting(size, "50000")
    offload: str = setting(pattern(r"s3://[a-z0-9].*|((?!://).)*", "s3://bucket/prefix, a folder or off", off="off"))
    presigned_url_ttl_s: float = setting(number(1, DAY_S), "3600")
    log_level: str = setting(choice("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
    log_sample_rate: float | None = setting(number(high=1, zero=None))
    call_log: str = setting(log_file)
    extras: tuple[str, ...] = setting(items("sources|scripts", "sources or scripts"))
    trace: bool = setting(boolean, "false")
    origin_secret_sha256: tuple[str, ...] = setting(
        items(r"[0-9a-f]{64}", "SHA-256 hashes of 64 hexadecimal digits", lower=True, is_shown=False)
    )
    allow_key_in_query: bool = setting(boolean, "false")
    allowed_origins: tuple[str, ...] = setting(  # any page can send the origin null
        items(r"\*|[a-z][a-z0-9+.-]*://[^/\s]+", "origins such as https://example.com, or *, and not null", lower=True)
    )
    oauth_issuer: str = setting(https_url)
    oauth_audience: str = setting(text)
    oauth_client_ids: tuple[str, ...] = setting(items(r".+", "texts"))
    oauth_scope_prefix: str = setting(text)
    oauth_premium_scope: bool = setting(boolean, "false")
    oauth_cognito_client: str = setting(text)
    oauth_redirect_uris: tuple[str, ...] = setting(  # of HTTPS, of this machine, or of an application (RFC 8252)
        items(
            rf"{_LOCAL}(/[^\s#*@]*)?|(?!http://)[a-z][a-z0-9.+-]*://[^\s#*@]+",
            "URIs that begin with https://, without patterns",
        )
    )
    oauth_sign_in_client: str = setting(text)
    token_secret: str = setting(secret)
    endpoint: str = setting(https_url)
    public_url: str = setting(https_url)
    anyone_may_use_the_key: bool = setting(boolean, "false")
    approve: str = setting(choice("agent", "human", "deny"), "agent")
    approval_secret: str = setting(secret)
    approval_ttl_s: float = setting(number(10, DAY_S), "600")
    audit_file: str = setting(log_file)
    middleware: tuple[str, ...] = setting(items(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "names of classes, module:Class"))
    ignored_variables: tuple[str, ...] = setting(items(r"[A-Za-z0-9_]+\*?", "names of variables"))
    source_urls: Mapping[str, str]
    keyed_sources: tuple[str, ...]

    def __init__(self, **values: Any) -> None:
        if wrong := self.__annotations__.keys() ^ values.keys():
            raise TypeError(f"fields that are missing or unknown: {', '.join(sorted(wrong))}")
        super().__init__(**values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: settings do not change; use replaced()")

    def replaced(self, **values: Any) -> "Settings":
        """Return the settings with other values of some fields."""
        return Settings(**{**vars(self), **values})

    @property
    def cache_table(self) -> str:
        """The DynamoDB table of the cache; empty where it is elsewhere."""
        return self.cache.removeprefix(_TABLE) if self.cache.startswith(_TABLE) else ""

    @property
    def cache_file(self) -> str:
        """The path of the cache's file; empty where it is a table, in memory or off."""
        return "" if self.cache in ("memory", "off") or self.cache_table else self.cache

    @property
    def switched_off(self) -> frozenset[str]:
        """The tools that combine several calls and that a setting switches off."""
        switches = (("TOOL_BATCH", self.batch), ("TOOL_PIPE", self.pipe), ("TOOL_SCRIPT", self.scripts))
        return frozenset(name for name, is_on in switches if not is_on)

    def __repr__(self) -> str:
        shown = ((name, value) for name, value in vars(self).items() if PREFIX + name.upper() not in HIDDEN)
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown)})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Read the settings from ``environment``, by default that of the process.

        Raises:
            SettingsError: a value cannot be parsed, a name is unknown, or settings contradict each other; names them.
        """
        variables = os.environ if environment is None else environment
        if unknown := unknown_names(variables):
            raise SettingsError("\n".join(unknown.values()))
        is_open = variables.get("TOOLFOLD_ACCESS", "").strip().lower() == "open"
        values: dict[str, Any] = {}
        for name, setting in VARIABLES.items():
            default = (is_open and setting.open_default) or setting.default
            values[name.removeprefix(PREFIX).lower()] = setting.parse(name, variables.get(name, default).strip())
        values["public_url"] = values["public_url"] or values["endpoint"]
        for sentence in _contradictions(values):
            raise SettingsError(sentence)
        given = {name: value for name in _names(variables) if (value := variables[name].strip())}
        of_sources = [(*found, name) for name in given if (found := source_of(name))]
        urls = {source: text(name, given[name]) for source, end, name in of_sources if end == "URL"}
        keyed = tuple(source for source, end, _ in of_sources if end == "KEY")
        return cls(**values, source_urls=urls, keyed_sources=keyed)


VARIABLES: Mapping[str, Setting] = {
    PREFIX + name.upper(): value for name, value in vars(Settings).items() if isinstance(value, Setting)
}
"""Variable → its setting."""


def _contradictions(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about settings that would open an endpoint which is meant to be closed, or close it to all."""
    access, issuer = values["access"], values["oauth_issuer"]
    if access == "oauth" and not issuer:
        yield "TOOLFOLD_ACCESS=oauth needs TOOLFOLD_OAUTH_ISSUER, which issues the tokens."
    if issuer and access not in ("", "oauth"):
        yield "TOOLFOLD_OAUTH_ISSUER needs TOOLFOLD_ACCESS=oauth. Choose it, or remove the issuer."
    if issuer and not values["public_url"]:
        yield "TOOLFOLD_PUBLIC_URL must be set with TOOLFOLD_OAUTH_ISSUER: clients request tokens for that URL."
    if not issuer and access != "iam":
        for name in (name for name in values if name.startswith("oauth_") and values[name]):
            yield f"{PREFIX}{name.upper()} needs TOOLFOLD_OAUTH_ISSUER; no token is required without."
    if access == "open" and not (values["calls_per_minute"] and values["calls_per_day"]):
        yield "TOOLFOLD_ACCESS=open needs limits: TOOLFOLD_CALLS_PER_MINUTE and TOOLFOLD_CALLS_PER_DAY above 0."
    if bool(values["oauth_cognito_client"]) != bool(values["oauth_redirect_uris"]):
        yield "TOOLFOLD_OAUTH_COGNITO_CLIENT and TOOLFOLD_OAUTH_REDIRECT_URIS must be set together."


def unknown_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables named ``TOOLFOLD_…`` that are no settings, each with a sentence, in alphabetical order.

    They are mistakes: by a misspelt URL a key would be sent to the real service.
    """
    of_sources = ("ALPHA_VANTAGE_API_KEY", "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL")
    known = {name.removeprefix(PREFIX): name for name in (*of_sources, *VARIABLES)}
    return {
        name: f"{ascii(name)[1:-1]} is not a setting of toolfold. {suggest_variable(name.removeprefix(PREFIX), known)} "
        "If it belongs to something else, add it to TOOLFOLD_IGNORED_VARIABLES."
        for name in sorted(_names(environment))
        if name not in VARIABLES and not source_of(name)
    }


def _names(environment: Mapping[str, str]) -> list[str]:
    """Return the variables named ``TOOLFOLD_…`` without those that belong to something else."""
    others = split_items(environment.get("TOOLFOLD_IGNORED_VARIABLES", ""))
    others += [item.rpartition("=")[2] for item in split_items(environment.get("TOOLFOLD_KEY_VARIABLES", ""))]
    begins = tuple(item[:-1] for item in others if item.endswith("*"))
    ours = (name for name in environment if name.startswith(PREFIX))
    return [name for name in ours if name not in others and not name.startswith(begins)]


def source_of(name: str) -> tuple[str, str] | None:
    """Return the source and the end, ``URL`` or ``KEY``, of a variable of one source; None for any other name."""
    is_one = name.startswith("TOOLFOLD_SOURCE_")  # most starts have none, and need not compile the pattern
    match = re.fullmatch(r"TOOLFOLD_SOURCE_(\w+)_(URL|KEY)", name, re.ASCII) if is_one else None
    return (match[1].lower(), match[2]) if match else None


def suggest_variable(name: str, known: Mapping[str, str]) -> str:
    """Return "Did you mean X?", or where the settings are listed; ``known``: what is compared → what is shown."""
    from toolfold.fuzzy import did_you_mean  # only mistakes need it

    last = next((one for one in known if one.endswith(f"_{name}")), "")
    found = did_you_mean(name, known, shown=known.__getitem__) or did_you_mean(last, known, shown=known.__getitem__)
    return found.strip() or "`toolfold help settings` lists the settings."


def open_keys(settings: Settings) -> list[str]:
    """Return the variables with keys that every caller of a public endpoint would use, and nothing says that it may."""
    if settings.oauth_issuer or settings.access == "iam" or settings.anyone_may_use_the_key:
        return []
    names = {"TOOLFOLD_SOURCE_KEYS", *(known.variable for known in BUILT_IN_SOURCES.values())}
    names.update(f"TOOLFOLD_SOURCE_{source.upper()}_KEY" for source in settings.keyed_sources)
    names.update(item.rpartition("=")[2] for item in settings.key_variables)
    return sorted(name for name in names if os.environ.get(name, "").strip())
