"""The settings: environment variables, read once at the start into one typed value.

:data:`VARIABLES` has every variable with its default and meaning; a test holds ``docs/reference/settings.md`` equal to
it. API keys are not settings: ``execution.credentials`` reads them for each call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.errors import SettingsError

_BOOLEANS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off", ""), False),
}

MAX_PRESIGNED_URL_TTL_S = 86400
"""A presigned URL of a role expires with the role's credentials, after a day at the latest."""

_MAX_NUMBER = 1e12
"""Largest value of a number: a terabyte, or 30,000 years. Python's integers and floats beyond it fail where they are
used, in SQLite and in time arithmetic."""

_MAX_SHOWN = 200
"""Characters of a wrong value that an error message repeats."""

_MAX_TIMEOUT_S = 86400.0
"""Longest time-out. A socket refuses more than 24 days."""


def _text(_name: str, value: str) -> str:
    return value


def _encodable(name: str, value: str) -> str:
    """Check a text that is hashed or sent. Python decodes other bytes to surrogates, which cannot be encoded."""
    if not _is_encodable(value):
        raise SettingsError(f"{name} must be valid UTF-8.")
    return value


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _positive(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MAX_NUMBER:
        raise SettingsError(f"{name} must be a number above 0, not {_shown(value)}.")
    return number


def _timeout(name: str, value: str) -> float:
    seconds = _positive(name, value)
    if seconds > _MAX_TIMEOUT_S:
        raise SettingsError(f"{name} must be at most {_MAX_TIMEOUT_S:.0f} seconds, not {_shown(value)}.")
    return seconds


def _shown(value: str) -> str:
    """Return ``value`` as it may be shown in one line of an error message."""
    return ascii(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")


def _positive_integer(name: str, value: str) -> int:
    """Parse a whole number from 1, also as ``25e6``."""
    number = _positive(name, value)
    if not number.is_integer():
        raise SettingsError(f"{name} must be a whole number above 0, not {_shown(value)}.")
    return int(number)


def _optional_positive(name: str, value: str) -> float | None:
    return _positive(name, value) if value else None


def _count(name: str, value: str) -> int:
    """Parse a whole number from 0; empty counts as 0."""
    if value and not (value.isascii() and value.isdigit() and len(value) < 10):
        raise SettingsError(f"{name} must be a whole number, not {_shown(value)}.")
    return int(value or 0)


def _optional_count(name: str, value: str) -> int | None:
    return _count(name, value) or None


def _boolean(name: str, value: str) -> bool:
    try:
        return _BOOLEANS[value.lower()]
    except KeyError:
        raise SettingsError(f"{name} must be true or false, not {_shown(value)}.") from None


def _cache(name: str, value: str) -> str:
    """Check a cache location. A URL other than ``dynamodb://TABLE`` is a mistake, not the name of a file."""
    table = value.removeprefix("dynamodb://")
    if "://" in value and (table == value or not re.fullmatch(r"[A-Za-z0-9_.-]+", table)):
        raise SettingsError(f"{name} must be empty, memory, off, a path or dynamodb://table, not {_shown(value)}.")
    return value


def _stored_keys(name: str, value: str) -> str:
    """Check a reference to a JSON object of keys. The value is not shown: it may be that object itself."""
    if value and not re.fullmatch(r"(ssm:/?|arn:aws[a-z-]*:(secretsmanager|ssm):)[A-Za-z0-9/_+=.@:-]+", value):
        raise SettingsError(
            f"{name} must be the ARN of a secret or parameter, or ssm:/NAME, without a #FIELD. The keys themselves do "
            "not belong there."
        )
    return value


def _bucket(name: str, value: str) -> str:
    if value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"{name} must be empty or s3://bucket/prefix, not {_shown(value)}.")
    return value


def _offload(name: str, value: str) -> str:
    """Check a bucket or folder. A URL other than ``s3://`` is a mistake, not the name of a folder."""
    if "://" in value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"{name} must be s3://bucket/prefix, a folder or off, not {_shown(value)}.")
    return value


def _presigned_url_ttl(name: str, value: str) -> float:
    seconds = _positive(name, value)
    if not 1 <= seconds <= MAX_PRESIGNED_URL_TTL_S:
        raise SettingsError(f"{name} must be from 1 to {MAX_PRESIGNED_URL_TTL_S}, not {seconds:g}.")
    return seconds


def _log_level(name: str, value: str) -> str:
    if value.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError(f"{name} must be DEBUG, INFO, WARNING or ERROR, not {_shown(value)}.")
    return value.upper()


def _https_url(name: str, value: str) -> str:
    """Check a URL of HTTPS, or of this machine."""
    if value and not re.fullmatch(r"(https://[^\s/?#@]+|http://(localhost|127\.0\.0\.1)(:\d+)?)(/[^\s?#]*)?", value):
        raise SettingsError(f"{name} must be a URL that begins with https://, not {_shown(value)}.")
    return value


def _approve(name: str, value: str) -> str:
    if value.lower() not in ("agent", "human", "deny"):
        raise SettingsError(f"{name} must be agent, human or deny, not {_shown(value)}.")
    return value.lower()


def _explorer(name: str, value: str) -> str:
    if value.lower() not in ("off", "read-only", "calls"):
        raise SettingsError(f"{name} must be off, read-only or calls, not {_shown(value)}.")
    return value.lower()


def _approval_secret(name: str, value: str) -> str:
    """Check a secret, or a reference to one in AWS, as those of API keys: see ``execution.secrets``."""
    if value and not value.startswith(("arn:", "ssm:")) and len(_encodable(name, value)) < 32:
        raise SettingsError(f"{name} must have at least 32 characters, or be the ARN of a secret.")
    return value


def _approval_ttl(name: str, value: str) -> float:
    seconds = _positive(name, value)
    if not 10 <= seconds <= 86400:
        raise SettingsError(f"{name} must be from 10 to 86400, not {seconds:g}.")
    return seconds


def _origins(name: str, value: str) -> tuple[str, ...]:
    origins = tuple(origin.rstrip("/").lower() for origin in _items(value))
    for origin in origins:
        if origin == "null":
            raise SettingsError(f"{name} cannot allow the origin null: any page can send it.")
        if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise SettingsError(f"{name} must be origins such as https://example.com, or *, not {_shown(origin)}.")
    return origins


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _comma_separated(_name: str, value: str) -> tuple[str, ...]:
    return tuple(_items(value))


def _redirect_uris(name: str, value: str) -> tuple[str, ...]:
    """Parse URIs of HTTPS, of this machine, or of an application (RFC 8252); without patterns."""
    for item in (items := _items(value)):
        if not re.fullmatch(r"[a-z][a-z0-9.+-]*://[^\s#*@]+", item) or (
            item.startswith("http://") and not re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?/", f"{item}/")
        ):
            raise SettingsError(f"{name} must be URIs that begin with https://, without patterns, not {_shown(item)}.")
    return tuple(items)


def _key_variables(name: str, value: str) -> tuple[str, ...]:
    """Parse names of environment variables, each after ``SOURCE=`` where it is for one source."""
    for item in (items := _items(value)):
        if not re.fullmatch(r"([a-z][a-z0-9_]*=)?[A-Za-z_][A-Za-z0-9_]*", item):
            raise SettingsError(f"{name} must be names of variables, separated by commas, not {_shown(item)}.")
    return tuple(items)


MODE_SYNONYMS: Mapping[str, str] = {"individual": "direct"}
KIND_MODE_SYNONYMS: Mapping[str, str] = {"legacy": "inline"}
"""What other systems call a mode → the mode."""

_MODES = ("progressive", "lazy", "grouped", "direct", "kinds", "auto")
_KIND_MODES = ("progressive", "inline", "off")


def _mode(name: str, value: str) -> str:
    mode = MODE_SYNONYMS.get(value.lower(), value.lower())
    if mode and mode not in _MODES:
        raise SettingsError(f"{name} must be empty or one of {', '.join(_MODES)}, not {_shown(value)}.")
    return mode


def _kind_mode(name: str, value: str) -> str:
    mode = KIND_MODE_SYNONYMS.get(value.lower(), value.lower())
    if mode and mode not in _KIND_MODES:
        raise SettingsError(f"{name} must be empty or one of {', '.join(_KIND_MODES)}, not {_shown(value)}.")
    return mode


def _hosts(name: str, value: str) -> tuple[str, ...]:
    """Parse host names, each after ``SOURCE=`` where it is for one source, and with ``:PORT`` where that is not 443."""
    for item in (items := _items(value.lower())):
        if not re.fullmatch(r"([a-z][a-z0-9_]*=)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]{1,5})?", item):
            raise SettingsError(
                f"{name} must be host names, separated by commas, without https:// and path, not {_shown(item)}."
            )
    return tuple(items)


def _names(name: str, value: str) -> tuple[str, ...]:
    """Parse names of variables; ``*`` at the end of one stands for any further characters."""
    for item in (items := _items(value)):
        if not re.fullmatch(r"[A-Za-z0-9_]+\*?", item):
            raise SettingsError(f"{name} must be names of variables, separated by commas, not {_shown(item)}.")
    return tuple(items)


def _commands(name: str, value: str) -> tuple[str, ...]:
    """Parse the first words of commands, each after ``SOURCE=`` where it is for one source."""
    for item in (items := _items(value)):
        try:
            import shlex  # few deployments need it

            words = shlex.split(re.sub(r"^[a-z][a-z0-9_]*=", "", item))
        except ValueError:
            words = []
        if not (words and words[0]):
            raise SettingsError(f"{name} must be commands, separated by commas, not {_shown(item)}.")
    return tuple(items)


class Variable(NamedTuple):
    """An environment variable.

    Attributes:
        parse: name and text → value.
        default: text used when the variable is not set.
        meaning: one sentence for the documentation and ``toolfold help settings``.
    """

    parse: Callable[[str, str], Any]
    default: str
    meaning: str


VARIABLES: Mapping[str, Variable] = {
    "TOOLFOLD_CATALOG": Variable(
        _text, "", "Location of the catalog: empty = the one in the package, a file path, or s3://bucket/prefix."
    ),
    "TOOLFOLD_MODE": Variable(
        _mode,
        "",
        "What tools/list shows where the profile does not say: progressive (the default), lazy, grouped, direct, kinds "
        "or auto.",
    ),
    "TOOLFOLD_CONNECTOR_MODE": Variable(
        _kind_mode,
        "",
        "How tools of APIs are shown where the profile does not say: progressive (the default), inline = each by its "
        "own name, off = not exposed.",
    ),
    "TOOLFOLD_DATABASE_MODE": Variable(_kind_mode, "", "The same for tools of SQL databases."),
    "TOOLFOLD_MCP_MODE": Variable(_kind_mode, "", "The same for tools of MCP servers."),
    "TOOLFOLD_SKILL_MODE": Variable(_kind_mode, "", "The same for skills."),
    "TOOLFOLD_CATALOG_MAX_AGE_S": Variable(_positive, "60", "Seconds between checks for a newer catalog in S3."),
    "TOOLFOLD_S3_TIMEOUT_S": Variable(
        _timeout, "5", "Seconds to read one part of the catalog from S3, or to save a long answer, retries included."
    ),
    "TOOLFOLD_SOURCE_<ID>_URL": Variable(
        _text, "", "Base URL of a source, instead of its own; e.g. TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL."
    ),
    "TOOLFOLD_SOURCE_<ID>_KEY": Variable(
        _text, "", "API key of a source whose `auth.environment` has this name; read at each call."
    ),
    "TOOLFOLD_SOURCE_KEYS": Variable(
        _stored_keys,
        "",
        "Where the keys of further sources are in AWS: ARN of a secret, or ssm:/NAME of a parameter, that is a JSON "
        "object of source ID and key; used where the variable of a source is empty.",
    ),
    "TOOLFOLD_KEY_VARIABLES": Variable(
        _key_variables,
        "",
        "Further environment variables that a catalog may name for the key of a source, separated by commas; "
        "ID=NAME is for the source ID alone.",
    ),
    "TOOLFOLD_ALLOWED_HOSTS": Variable(
        _hosts,
        "",
        "Further hosts that a catalog may name for a source, separated by commas, each with :PORT if it is not 443; "
        "ID=HOST is for the source ID alone.",
    ),
    "TOOLFOLD_PRIVATE_HOSTS": Variable(
        _hosts,
        "",
        "Allowed hosts that may have an address in a private network, such as 10.0.0.8, separated by commas, in the "
        "same form.",
    ),
    "TOOLFOLD_ALLOWED_COMMANDS": Variable(
        _commands,
        "",
        "Commands that a catalog may start as MCP servers, separated by commas: the first words of each, such as "
        "`uvx mcp-server-time`; ID=WORDS is for the source ID alone. Not on Lambda.",
    ),
    "TOOLFOLD_CONNECT_TIMEOUT_S": Variable(_timeout, "5", "Seconds to wait for a connection to a source."),
    "TOOLFOLD_TIMEOUT_S": Variable(_timeout, "25", "Total seconds a request to a source may take."),
    "TOOLFOLD_DEADLINE_MARGIN_S": Variable(
        _timeout, "1", "On Lambda: seconds of the function's remaining time reserved for sending the response."
    ),
    "TOOLFOLD_MAX_RESPONSE_BYTES": Variable(
        _positive_integer, "25000000", "Largest response read from a source, in bytes after decompression."
    ),
    "TOOLFOLD_CACHE": Variable(
        _cache,
        "",
        "Where responses are cached: empty or memory = in this process, off, dynamodb://table, or the path of a SQLite "
        "file. For stdio and the command line, empty means a file in the user's cache folder.",
    ),
    "TOOLFOLD_CACHE_BUCKET": Variable(
        _bucket, "", "With DynamoDB: s3://bucket/prefix for responses too large for the table."
    ),
    "TOOLFOLD_CACHE_MEMORY_BYTES": Variable(
        _positive_integer, "32000000", "Most memory used by cached responses, compressed, in bytes."
    ),
    "TOOLFOLD_CACHE_FILE_BYTES": Variable(_positive_integer, "256000000", "Largest size of a SQLite cache, in bytes."),
    "TOOLFOLD_CACHE_TIMEOUT_S": Variable(
        _timeout, "0.3", "Seconds to wait for the shared cache: to connect, and for each response."
    ),
    "TOOLFOLD_CACHE_COOLDOWN_S": Variable(_positive, "30", "Seconds before a shared cache that failed is used again."),
    "TOOLFOLD_STALE_IF_ERROR_S": Variable(
        _count,
        "86400",
        "Seconds after expiry during which a cached response is returned, marked as late, when the source fails; "
        "0 = never.",
    ),
    "TOOLFOLD_NO_DATA_TTL_S": Variable(_positive, "300", "Seconds a NO_DATA response is cached."),
    "TOOLFOLD_NEGATIVE_TTL_S": Variable(
        _positive, "300", "Seconds an INVALID_ARGUMENTS or PREMIUM_ONLY response of a source is cached."
    ),
    "TOOLFOLD_KEY_SALT": Variable(_encodable, "", "Salt of the hashes that stand for API keys in a shared cache."),
    "TOOLFOLD_REQUESTS_PER_DAY": Variable(
        _optional_count, "", "Requests per API key and day; empty = no limit here, the source enforces its own."
    ),
    "TOOLFOLD_REQUESTS_PER_SECOND": Variable(
        _optional_positive, "", "Requests per API key and second; empty = learned from the source."
    ),
    "TOOLFOLD_CALLS_PER_MINUTE": Variable(
        _optional_count, "", "Calls that one client may make in a minute; empty or 0 = no limit."
    ),
    "TOOLFOLD_CALLS_PER_DAY": Variable(
        _optional_count,
        "",
        "Calls of one client in a day (UTC) that are not answered from the cache; empty or 0 = no limit.",
    ),
    "TOOLFOLD_MAX_QUEUE_WAIT_S": Variable(
        _timeout, "3", "Most seconds a call waits because of a rate limit before it fails."
    ),
    "TOOLFOLD_QUOTA_RECHECK_S": Variable(
        _positive, "3600", "Seconds before an API key whose daily quota is used up is tried again."
    ),
    "TOOLFOLD_RETRIES": Variable(_count, "2", "Retries of a request that failed for a transient reason; 0 = none."),
    "TOOLFOLD_RETRY_BACKOFF_S": Variable(
        _positive, "0.3", "Seconds before the first retry; doubled before each further one."
    ),
    "TOOLFOLD_BREAKER_FAILURES": Variable(
        _positive_integer, "5", "Consecutive failures after which calls to a source are stopped for a while."
    ),
    "TOOLFOLD_BREAKER_COOLDOWN_S": Variable(_positive, "30", "Seconds before a failing source is tried again."),
    "TOOLFOLD_SECRET_TTL_S": Variable(_positive, "300", "Seconds an API key read from AWS is cached."),
    "TOOLFOLD_SECRET_TIMEOUT_S": Variable(
        _timeout, "2", "Seconds to wait for AWS when an API key is read: to connect, and for the response."
    ),
    "TOOLFOLD_MAX_TOKENS": Variable(
        _positive_integer, "8000", "Tokens above which a model gets a preview of an answer, unless the call sets more."
    ),
    "TOOLFOLD_MAX_TOKENS_CEILING": Variable(
        _positive_integer, "50000", "Most tokens that a call may request with max_tokens."
    ),
    "TOOLFOLD_OFFLOAD": Variable(
        _offload,
        "",
        "Where the full text of a long answer is saved: s3://bucket/prefix, a folder, or off. For stdio and the "
        "command line, empty means a folder in the user's cache folder; elsewhere it means off.",
    ),
    "TOOLFOLD_PRESIGNED_URL_TTL_S": Variable(
        _presigned_url_ttl,
        "3600",
        "Seconds a link to a long answer in S3 is valid, at most 86400 and until the credentials that sign it end.",
    ),
    "TOOLFOLD_LOG_LEVEL": Variable(
        _log_level, "INFO", "Lowest level that the HTTP server logs: DEBUG, INFO, WARNING or ERROR."
    ),
    "TOOLFOLD_CALL_LOG": Variable(
        _text,
        "",
        "File to which stdio, the local server and the command line append a line for each request and call, without "
        "arguments and answers, for `toolfold stats`; empty = none.",
    ),
    "TOOLFOLD_TRACE": Variable(_boolean, "false", "On Lambda: whether to record traces with AWS X-Ray."),
    "TOOLFOLD_ALLOW_KEY_IN_QUERY": Variable(
        _boolean, "false", "Whether requests may carry the API key in the URL, as ?apikey=."
    ),
    "TOOLFOLD_ALLOWED_ORIGINS": Variable(
        _origins, "", "Web origins that may call over HTTP, separated by commas; * allows every origin but null."
    ),
    "TOOLFOLD_OAUTH_ISSUER": Variable(
        _https_url, "", "Over HTTP: issuer whose access tokens callers must send; empty = no tokens are required."
    ),
    "TOOLFOLD_OAUTH_AUDIENCE": Variable(
        _text, "", "What the tokens must name as their audience; empty = the value of TOOLFOLD_PUBLIC_URL."
    ),
    "TOOLFOLD_OAUTH_CLIENT_IDS": Variable(
        _comma_separated,
        "",
        "Clients of the issuer whose tokens are accepted, separated by commas; empty = all. Required where tokens have "
        "no audience, as those of Amazon Cognito.",
    ),
    "TOOLFOLD_OAUTH_SCOPE_PREFIX": Variable(
        _text, "", "What the issuer writes before tools:read and the other scopes, e.g. the id of its resource server."
    ),
    "TOOLFOLD_OAUTH_PREMIUM_SCOPE": Variable(
        _boolean, "false", "Whether tools that need a premium plan need the scope tools:premium too."
    ),
    "TOOLFOLD_OAUTH_COGNITO_CLIENT": Variable(
        _text,
        "",
        "Public client of an Amazon Cognito user pool that registration returns to every client; empty = no "
        "registration here.",
    ),
    "TOOLFOLD_OAUTH_REDIRECT_URIS": Variable(
        _redirect_uris, "", "Redirect URIs of that client, separated by commas; no other can be registered."
    ),
    "TOOLFOLD_PUBLIC_URL": Variable(
        _https_url, "", "URL of the MCP endpoint as its clients know it; required with an issuer."
    ),
    "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": Variable(
        _boolean,
        "false",
        "Whether callers from other machines may use a key set here although no issuer checks who they are.",
    ),
    "TOOLFOLD_APPROVE": Variable(
        _approve,
        "agent",
        "Who approves calls of destructive tools and of tools with `confirm`: agent = the caller, who repeats the call "
        "with its token; human = a person with `toolfold approve`; deny = all are refused.",
    ),
    "TOOLFOLD_APPROVAL_SECRET": Variable(
        _approval_secret,
        "",
        "Secret that signs approval tokens, or the ARN of one in AWS; required with DynamoDB. Elsewhere, empty means a "
        "generated one.",
    ),
    "TOOLFOLD_APPROVAL_TTL_S": Variable(
        _approval_ttl, "600", "Seconds in which a call must be approved and repeated; 10 to 86400."
    ),
    "TOOLFOLD_AUDIT_FILE": Variable(
        _text, "", "File to which a line of JSON is appended for each call; empty = none. On Lambda the log has them."
    ),
    "TOOLFOLD_EXPLORER": Variable(
        _explorer,
        "off",
        "On Lambda: the web explorer, at /. off = not served; read-only = it shows the catalog; calls = it calls tools "
        "too, which needs an issuer.",
    ),
    "TOOLFOLD_IGNORED_VARIABLES": Variable(
        _names,
        "",
        "Variables named TOOLFOLD_… that are not settings, separated by commas, NAME or NAME*; any other is an error.",
    ),
}
"""Name → how it is parsed, its default and its meaning.

25 s is below the 30 s after which an API Gateway HTTP API gives up. 25 MB holds the longest histories of the catalog's
sources; what a model gets of a response is limited by ``TOOLFOLD_MAX_TOKENS``.
"""


class BuiltInSource(NamedTuple):
    """What the catalog entry of a source with an adapter in this package may name without a setting.

    Attributes:
        variable: the environment variable with its key.
        host: the host that its key is sent to.
    """

    variable: str
    host: str


BUILT_IN_SOURCES: Mapping[str, BuiltInSource] = {
    "alpha_vantage": BuiltInSource("ALPHA_VANTAGE_API_KEY", "www.alphavantage.co")
}
"""Id of a source → what it may name. Here, and not beside the adapter: the first response does not import adapters."""

_PREFIX = "TOOLFOLD_"
_SHORT_NAMES = frozenset(name.removeprefix(_PREFIX) for name in VARIABLES if "<" not in name)

_OF_SOURCE = "TOOLFOLD_SOURCE_"

# Not compiled: the first response needs it for unknown names alone.
_OF_KUBERNETES = (
    r"TOOLFOLD(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
    r"|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in every container beside a service whose name begins with "toolfold"
(https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables)."""


_HIDDEN = ("key_salt", "approval_secret")


class Settings(NamedTuple):
    """The settings in force: one field per variable, with times in seconds and sizes in bytes.

    A named tuple, because making a dataclass of so many fields takes 3 ms of every cold start. ``repr`` hides the
    salt and the secret.
    """

    catalog: str
    mode: str
    connector_mode: str
    database_mode: str
    mcp_mode: str
    skill_mode: str
    catalog_max_age_s: float
    s3_timeout_s: float
    source_urls: Mapping[str, str]
    keyed_sources: tuple[str, ...]
    source_keys: str
    key_variables: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    private_hosts: tuple[str, ...]
    allowed_commands: tuple[str, ...]
    connect_timeout_s: float
    timeout_s: float
    deadline_margin_s: float
    max_response_bytes: int
    cache: str
    cache_bucket: str
    cache_memory_bytes: int
    cache_file_bytes: int
    cache_timeout_s: float
    cache_cooldown_s: float
    stale_if_error_s: float
    no_data_ttl_s: float
    negative_ttl_s: float
    key_salt: str
    requests_per_day: int | None
    requests_per_second: float | None
    calls_per_minute: int | None
    calls_per_day: int | None
    max_queue_wait_s: float
    quota_recheck_s: float
    retries: int
    retry_backoff_s: float
    breaker_failures: int
    breaker_cooldown_s: float
    secret_ttl_s: float
    secret_timeout_s: float
    max_tokens: int
    max_tokens_ceiling: int
    offload: str
    presigned_url_ttl_s: float
    log_level: str
    call_log: str
    trace: bool
    allow_key_in_query: bool
    allowed_origins: tuple[str, ...]
    oauth_issuer: str
    oauth_audience: str
    oauth_client_ids: tuple[str, ...]
    oauth_scope_prefix: str
    oauth_premium_scope: bool
    oauth_cognito_client: str
    oauth_redirect_uris: tuple[str, ...]
    public_url: str
    anyone_may_use_the_key: bool
    approve: str
    approval_secret: str
    approval_ttl_s: float
    audit_file: str
    explorer: str
    ignored_variables: tuple[str, ...]

    @property
    def shapes_tools(self) -> bool:
        """Whether a variable says what tools/list shows."""
        modes = (self.mode, self.connector_mode, self.database_mode, self.mcp_mode, self.skill_mode)
        return any(mode not in ("", "progressive") for mode in modes)

    def __repr__(self) -> str:
        shown = ((name, value) for name, value in zip(self._fields, self, strict=True) if name not in _HIDDEN)
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown)})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from ``environment``, by default that of the process.

        Raises:
            SettingsError: a value cannot be parsed, or a name is misspelt; names the variable.
        """
        variables = os.environ if environment is None else environment
        check_names(variables)
        values = {
            name.removeprefix(_PREFIX).lower(): variable.parse(name, variables.get(name, variable.default).strip())
            for name, variable in VARIABLES.items()
            if "<" not in name
        }
        _check_oauth(values)
        ignored = values["ignored_variables"]
        keyed_sources = _keyed_sources(variables, ignored)
        return cls(source_urls=_source_urls(variables, ignored), keyed_sources=keyed_sources, **values)


def _check_oauth(values: Mapping[str, Any]) -> None:
    """Check that the settings about access tokens go together.

    Raises:
        SettingsError: they do not; an endpoint would be open that is meant to be closed, or closed to all.
    """
    if values["oauth_issuer"] and not values["public_url"]:
        raise SettingsError(
            "TOOLFOLD_PUBLIC_URL must be set with TOOLFOLD_OAUTH_ISSUER: clients request tokens for that URL."
        )
    dependent = [name for name in values if name.startswith("oauth_") and values[name]]
    if dependent and not values["oauth_issuer"]:
        raise SettingsError(
            f"{_PREFIX}{dependent[0].upper()} needs TOOLFOLD_OAUTH_ISSUER; no token is required without."
        )
    if values["explorer"] == "calls" and not values["oauth_issuer"]:
        raise SettingsError(
            "TOOLFOLD_EXPLORER=calls needs TOOLFOLD_OAUTH_ISSUER, which says who may call; without it use read-only."
        )
    if bool(values["oauth_cognito_client"]) != bool(values["oauth_redirect_uris"]):
        raise SettingsError(
            "TOOLFOLD_OAUTH_COGNITO_CLIENT and TOOLFOLD_OAUTH_REDIRECT_URIS must be set together: the client is "
            "given to every client that has one of these redirect URIs."
        )


def check_key_is_guarded(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Check that a caller who is not known cannot spend the operator's key by accident.

    Raises:
        SettingsError: a key is set, no access tokens are required, and it is not confirmed that this is intended.
    """
    found = open_keys(settings, environment)
    if found:
        raise SettingsError(
            f"Anyone who reaches this server would use the key in {found[0]}. Remove it, so that callers send their "
            "own, set TOOLFOLD_OAUTH_ISSUER, or confirm it with TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true."
        )


def open_keys(settings: Settings, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables with keys that every caller of a public endpoint would use, and nothing says that it may.

    Args:
        settings: the settings in force.
        environment: environment variables (default: the process's).
    """
    if settings.oauth_issuer or settings.anyone_may_use_the_key:
        return []
    variables = os.environ if environment is None else environment
    names = {known.variable for known in BUILT_IN_SOURCES.values()}
    names.update(f"{_PREFIX}SOURCE_{source.upper()}_KEY" for source in settings.keyed_sources)
    names.add("TOOLFOLD_SOURCE_KEYS")
    names.update(item.rpartition("=")[2] for item in settings.key_variables)
    return sorted(name for name in names if variables.get(name, "").strip())


def check_names(environment: Mapping[str, str]) -> None:
    """Check that every variable that looks like a setting is one.

    A misspelt ``TOOLFOLD_SOURCE_<ID>_URL`` would send the calls, and the key, to the real service.

    Raises:
        SettingsError: one is not.
    """
    unknown = unknown_names(environment)
    if unknown:
        raise SettingsError("\n".join(map(describe_unknown, unknown)))


def describe_unknown(name: str) -> str:
    """Return a sentence about a variable that is not a setting, with the closest one."""
    from toolfold.settings_names import describe

    return describe(name, VARIABLES, {source: known.variable for source, known in BUILT_IN_SOURCES.items()})


def unknown_names(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that look like settings but are not, in alphabetical order."""
    allowed: Sequence[str] = ()
    unknown = []
    for name in environment:
        if name in VARIABLES or not _looks_like_setting(name):
            continue
        allowed = allowed or [
            *_items(environment.get("TOOLFOLD_IGNORED_VARIABLES", "")),
            *(item.rpartition("=")[2] for item in _items(environment.get("TOOLFOLD_KEY_VARIABLES", ""))),
            "",
        ]
        if not is_ignored(name, allowed):
            unknown.append(name)
    return sorted(unknown)


def is_ignored(name: str, ignored: Sequence[str]) -> bool:
    """Return whether ``ignored``, a value of ``TOOLFOLD_IGNORED_VARIABLES``, has ``name``."""
    return any(name == item or (item[-1:] == "*" and name.startswith(item[:-1])) for item in ignored)


def source_of(name: str) -> tuple[str, str] | None:
    """Return the source and the end, ``URL`` or ``KEY``, of a variable of one source; None for any other name."""
    id_, separator, end = name.removeprefix(_OF_SOURCE).rpartition("_")
    if not (name.startswith(_OF_SOURCE) and id_ and separator and end in ("URL", "KEY")):
        return None
    return id_.lower(), end


def _looks_like_setting(name: str) -> bool:
    if name.startswith(_PREFIX):
        return source_of(name) is None and re.fullmatch(_OF_KUBERNETES, name) is None
    # Another spelling of the prefix: in lower case, divided, without the underscore, with a typo.
    upper = name.upper()
    head = next((head for head in ("TOOLFOLD", "TOOL_FOLD", "TOOL-FOLD") if upper.startswith(head)), "")
    short = upper.removeprefix(head).lstrip("_-") if head else upper.partition("_")[2]
    if short not in _SHORT_NAMES and source_of(_PREFIX + short) is None:
        return False
    return bool(head) or _has_letters_of_prefix(upper.partition("_")[0])


def _has_letters_of_prefix(word: str) -> bool:
    """Return whether ``word`` has the letters of the prefix, but for one. Imports nothing: each start needs this."""
    missing = list("TOOLFOLD")
    for letter in word:
        if letter in missing:
            missing.remove(letter)
    return abs(len(word) - 8) <= 1 and len(missing) <= 1


def _source_urls(variables: Mapping[str, str], ignored: Sequence[str]) -> dict[str, str]:
    """Return source → URL, from the variables named ``TOOLFOLD_SOURCE_<ID>_URL``."""
    urls = {}
    for name, value in variables.items():
        found = source_of(name)
        if found is not None and found[1] == "URL" and value.strip() and not is_ignored(name, ignored):
            urls[found[0]] = _encodable(name, value.strip())
    return urls


def _keyed_sources(variables: Mapping[str, str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the sources of the variables named ``TOOLFOLD_SOURCE_<ID>_KEY``; the keys are read at each call."""
    names = (name for name, value in variables.items() if value.strip() and not is_ignored(name, ignored))
    return tuple(found[0] for found in map(source_of, names) if found is not None and found[1] == "KEY")
