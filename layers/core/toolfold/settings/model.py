"""Every setting: its type, how its text is parsed and its default; and the settings in force.

``meanings.toml`` says what each means, and a test compares ``docs/reference/settings.md`` with both.
"""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.errors import SettingsError
from toolfold.settings import parsers as p
from toolfold.settings.parsers import split_items

PREFIX = "TOOLFOLD_"
_OF_SOURCE = "TOOLFOLD_SOURCE_"
SECRETS = ("TOOLFOLD_APPROVAL_SECRET", "TOOLFOLD_TOKEN_SECRET")
HIDDEN = (*SECRETS, "TOOLFOLD_KEY_SALT")
"""Settings whose values are shown nowhere."""

_OPEN_LIMITS = {"TOOLFOLD_CALLS_PER_MINUTE": "60", "TOOLFOLD_CALLS_PER_DAY": "500"}
"""Where every client may call: more than a person and a model need, and a limit to what an unknown caller can cost."""


class Setting(NamedTuple):
    """A setting: ``default`` is the text parsed where the variable is not set."""

    parse: p.Parser
    default: str = ""


def setting(parse: p.Parser, default: str = "") -> Any:
    """Return a :class:`Setting` in the place of the value of a field, which :meth:`Settings.from_environment` reads."""
    return Setting(parse, default)


class BuiltInSource(NamedTuple):
    """What a source with an adapter in this package may name without a setting: the variable of its key, its host."""

    variable: str
    host: str


BUILT_IN_SOURCES = {"alpha_vantage": BuiltInSource("ALPHA_VANTAGE_API_KEY", "www.alphavantage.co")}
"""Id of a source → what it may name. Here, and not beside the adapter: the first response does not import adapters."""


class Settings:
    """The settings in force, with times in seconds and sizes in bytes. The field ``x`` is the variable ``TOOLFOLD_X``.

    Immutable; ``repr`` hides salt and secret. A plain class, whose class variables say how the fields are read:
    making a named tuple or a dataclass of so many fields takes 2 to 3 ms of a cold start.
    25 s is below the 30 s after which an HTTP API gives up; 25 MB holds the longest histories of the sources.
    """

    stage: str = setting(p.text)
    access: str = setting(p.choice("", "iam", "oauth", "open"))
    catalog: str = setting(p.text)
    mode: str = setting(p.mode)
    connector_mode: str = setting(p.kind_mode)
    database_mode: str = setting(p.kind_mode)
    mcp_mode: str = setting(p.kind_mode)
    skill_mode: str = setting(p.kind_mode)
    batch: bool = setting(p.boolean, "true")
    pipe: bool = setting(p.boolean, "true")
    scripts: bool = setting(p.boolean, "true")
    catalog_max_age_s: float = setting(p.duration, "60")
    s3_timeout_s: float = setting(p.timeout, "5")
    source_keys: str = setting(p.stored_keys)
    key_variables: tuple[str, ...] = setting(p.key_variables)
    allowed_hosts: tuple[str, ...] = setting(p.hosts)
    private_hosts: tuple[str, ...] = setting(p.hosts)
    allowed_commands: tuple[str, ...] = setting(p.commands)
    connect_timeout_s: float = setting(p.timeout, "5")
    timeout_s: float = setting(p.timeout, "25")
    deadline_margin_s: float = setting(p.timeout, "1")
    max_response_bytes: int = setting(p.size, "25000000")
    cache: str = setting(p.cache)
    cache_bucket: str = setting(p.bucket)
    cache_memory_bytes: int = setting(p.size, "32000000")
    cache_file_bytes: int = setting(p.size, "256000000")
    cache_timeout_s: float = setting(p.timeout, "0.3")
    cache_cooldown_s: float = setting(p.duration, "30")
    stale_if_error_s: float = setting(p.number(whole=True, zero=0), "86400")
    no_data_ttl_s: float = setting(p.duration, "300")
    negative_ttl_s: float = setting(p.duration, "300")
    key_salt: str = setting(p.text)
    requests_per_day: int | None = setting(p.optional_count)
    requests_per_second: float | None = setting(p.number(zero=None))
    calls_per_minute: int | None = setting(p.optional_count)
    calls_per_day: int | None = setting(p.optional_count)
    max_queue_wait_s: float = setting(p.timeout, "3")
    quota_recheck_s: float = setting(p.duration, "3600")
    retries: int = setting(p.number(whole=True, zero=0), "2")
    retry_backoff_s: float = setting(p.duration, "0.3")
    breaker_failures: int = setting(p.size, "5")
    breaker_cooldown_s: float = setting(p.duration, "30")
    secret_ttl_s: float = setting(p.duration, "300")
    secret_timeout_s: float = setting(p.timeout, "2")
    max_tokens: int = setting(p.size, "8000")
    max_tokens_ceiling: int = setting(p.size, "50000")
    offload: str = setting(p.offload)
    presigned_url_ttl_s: float = setting(p.number(1, p.DAY_S), "3600")
    log_level: str = setting(p.choice("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
    log_sample_rate: float | None = setting(p.number(high=1, zero=None))
    call_log: str = setting(p.log_file)
    extras: tuple[str, ...] = setting(p.items("sources|scripts", "sources or scripts"))
    trace: bool = setting(p.boolean, "false")
    origin_secret_sha256: tuple[str, ...] = setting(p.hashes)
    allow_key_in_query: bool = setting(p.boolean, "false")
    allowed_origins: tuple[str, ...] = setting(p.origins)
    oauth_issuer: str = setting(p.https_url)
    oauth_audience: str = setting(p.text)
    oauth_client_ids: tuple[str, ...] = setting(p.texts)
    oauth_scope_prefix: str = setting(p.text)
    oauth_premium_scope: bool = setting(p.boolean, "false")
    oauth_cognito_client: str = setting(p.text)
    oauth_redirect_uris: tuple[str, ...] = setting(p.redirect_uris)
    oauth_sign_in_client: str = setting(p.text)
    token_secret: str = setting(p.approval_secret)
    endpoint: str = setting(p.https_url)
    public_url: str = setting(p.https_url)
    anyone_may_use_the_key: bool = setting(p.boolean, "false")
    approve: str = setting(p.choice("agent", "human", "deny"), "agent")
    approval_secret: str = setting(p.approval_secret)
    approval_ttl_s: float = setting(p.number(10, p.DAY_S), "600")
    audit_file: str = setting(p.log_file)
    middleware: tuple[str, ...] = setting(p.middleware)
    ignored_variables: tuple[str, ...] = setting(p.names)
    source_urls: Mapping[str, str]
    keyed_sources: tuple[str, ...]

    def __init__(self, **values: Any) -> None:
        if wrong := self.__annotations__.keys() ^ values.keys():
            raise TypeError(f"fields that are missing or unknown: {', '.join(sorted(wrong))}")
        vars(self).update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: settings do not change; use replaced()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def replaced(self, **values: Any) -> "Settings":
        """Return the settings with other values of some fields."""
        return Settings(**{**vars(self), **values})

    @property
    def cache_table(self) -> str:
        """The DynamoDB table of the cache; empty where it is elsewhere."""
        return self.cache.removeprefix(p.TABLE_PREFIX) if self.cache.startswith(p.TABLE_PREFIX) else ""

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
            default = _OPEN_LIMITS.get(name, setting.default) if is_open else setting.default
            values[name.removeprefix(PREFIX).lower()] = setting.parse(name, variables.get(name, default).strip())
        values["public_url"] = values["public_url"] or values["endpoint"]
        for sentence in _contradictions(values):
            raise SettingsError(sentence)
        ignored = values["ignored_variables"]
        given = {name: value.strip() for name, value in variables.items() if value.strip()}
        of_sources = [(found, name) for name in given if (found := source_of(name)) and not is_ignored(name, ignored)]
        urls = {source: p.text(name, given[name]) for (source, end), name in of_sources if end == "URL"}
        keyed = tuple(source for (source, end), _ in of_sources if end == "KEY")
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
        dependent = (name for name in values if name.startswith("oauth_") and values[name])
        yield from (
            f"{PREFIX}{name.upper()} needs TOOLFOLD_OAUTH_ISSUER; no token is required without." for name in dependent
        )
    if access == "open" and not (values["calls_per_minute"] and values["calls_per_day"]):
        yield "TOOLFOLD_ACCESS=open needs limits: TOOLFOLD_CALLS_PER_MINUTE and TOOLFOLD_CALLS_PER_DAY above 0."
    if bool(values["oauth_cognito_client"]) != bool(values["oauth_redirect_uris"]):
        yield "TOOLFOLD_OAUTH_COGNITO_CLIENT and TOOLFOLD_OAUTH_REDIRECT_URIS must be set together."


def unknown_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables named ``TOOLFOLD_…`` that are no settings, each with a sentence, in alphabetical order.

    They are mistakes: by a misspelt URL a key would be sent to the real service.
    """
    ignored = split_items(environment.get("TOOLFOLD_IGNORED_VARIABLES", ""))
    ignored += [item.rpartition("=")[2] for item in split_items(environment.get("TOOLFOLD_KEY_VARIABLES", ""))]
    ours = (name for name in environment if name.startswith(PREFIX))
    unknown = sorted(name for name in ours if not is_setting(name) and not is_ignored(name, ignored))
    return {name: _describe_unknown(name) for name in unknown}


def is_setting(name: str) -> bool:
    """Return whether a variable is a setting, also one of a source."""
    return name in VARIABLES or source_of(name) is not None


def is_ignored(name: str, ignored: Sequence[str]) -> bool:
    """Return whether ``ignored``, a value of ``TOOLFOLD_IGNORED_VARIABLES``, has ``name``."""
    return any(name == item or (item[-1:] == "*" and name.startswith(item[:-1])) for item in ignored)


def source_of(name: str) -> tuple[str, str] | None:
    """Return the source and the end, ``URL`` or ``KEY``, of a variable of one source; None for any other name."""
    # Most starts have none, and need not compile the pattern.
    match = re.fullmatch(rf"{_OF_SOURCE}(\w+)_(URL|KEY)", name, re.ASCII) if name.startswith(_OF_SOURCE) else None
    return (match[1].lower(), match[2]) if match else None


def _describe_unknown(name: str) -> str:
    known = (*VARIABLES, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", "ALPHA_VANTAGE_API_KEY")
    step = did_you_mean_variable(name, known) or "`toolfold help settings` lists the settings."
    shown = name if name.isidentifier() and name.isascii() else ascii(name)
    return (
        f"{shown} is not a setting of toolfold. {step} "
        "If it belongs to something else, add it to TOOLFOLD_IGNORED_VARIABLES."
    )


def did_you_mean_variable(name: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Return the sentence "Did you mean X?", or an empty text. What all variables begin with is not compared."""
    from toolfold.fuzzy import did_you_mean  # only mistakes need it

    ends = {one.removeprefix(PREFIX): shown(one) for one in known}
    given = name.rpartition(PREFIX)[2]
    last = [end for end in ends if end.endswith(f"_{given}")][:1]
    sentence = did_you_mean(given, ends, shown=ends.__getitem__)
    return (sentence or did_you_mean("".join(last), last, shown=ends.__getitem__)).strip()


def open_keys(settings: Settings, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables with keys that every caller of a public endpoint would use, and nothing says that it may."""
    if settings.oauth_issuer or settings.access == "iam" or settings.anyone_may_use_the_key:
        return []
    variables = os.environ if environment is None else environment
    names = {"TOOLFOLD_SOURCE_KEYS", *(known.variable for known in BUILT_IN_SOURCES.values())}
    names.update(f"TOOLFOLD_SOURCE_{source.upper()}_KEY" for source in settings.keyed_sources)
    names.update(item.rpartition("=")[2] for item in settings.key_variables)
    return sorted(name for name in names if variables.get(name, "").strip())
