"""Everything the environment can set, read once into one typed value.

Every variable, its default and its meaning stand in :data:`VARIABLES`; ``docs/reference/settings.md`` is held equal to it by a
test. API keys are not settings: they are read per call by ``execution.credentials``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolfold.errors import SettingsError

VARIABLES: Mapping[str, tuple[str, str]] = {
    "TOOLFOLD_CATALOG": (
        "",
        "Where the catalog is: empty = the one in the package, a file path, or s3://bucket/prefix.",
    ),
    "TOOLFOLD_CATALOG_MAX_AGE_S": ("60", "Seconds a catalog from S3 is used before its pointer is looked at again."),
    "TOOLFOLD_S3_TIMEOUT_S": (
        "5",
        "Seconds that S3 may take for one part of the catalog, and to keep a long answer, repetitions included.",
    ),
    "TOOLFOLD_SOURCE_<ID>_URL": ("", "Another address for a source, e.g. TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL."),
    "TOOLFOLD_CONNECT_TIMEOUT_S": ("5", "Seconds to wait for a connection to the upstream."),
    "TOOLFOLD_TIMEOUT_S": ("25", "Seconds a call to the upstream may take in all."),
    "TOOLFOLD_DEADLINE_MARGIN_S": ("1", "On Lambda: seconds kept back of the function's remaining time, to answer in."),
    "TOOLFOLD_MAX_RESPONSE_BYTES": ("25000000", "Largest upstream answer that is fetched, in bytes, unpacked."),
    "TOOLFOLD_CACHE": (
        "",
        "Where answers are held: empty or memory = this process, off, dynamodb://table, or the path of a SQLite file. "
        "Over stdio and at a terminal empty is a file in the user's cache folder.",
    ),
    "TOOLFOLD_CACHE_BUCKET": ("", "With DynamoDB: s3://bucket/prefix for answers too large for the table."),
    "TOOLFOLD_CACHE_MEMORY_BYTES": ("32000000", "Most memory that held answers may take, compressed, in bytes."),
    "TOOLFOLD_CACHE_FILE_BYTES": ("256000000", "Most that a SQLite file may hold, in bytes."),
    "TOOLFOLD_CACHE_TIMEOUT_S": ("0.3", "Seconds to wait for the shared cache: to connect, and for each answer."),
    "TOOLFOLD_CACHE_COOLDOWN_S": ("30", "Seconds in which a shared cache that failed is not asked again."),
    "TOOLFOLD_STALE_IF_ERROR_S": (
        "86400",
        "Seconds past its time for which a held answer is still given, as late, when the source cannot be asked; "
        "0 = never.",
    ),
    "TOOLFOLD_NO_DATA_TTL_S": ("300", "Seconds for which NO_DATA is remembered."),
    "TOOLFOLD_NEGATIVE_TTL_S": (
        "300",
        "Seconds for which the upstream's INVALID_ARGUMENTS and PREMIUM_ONLY are remembered.",
    ),
    "TOOLFOLD_KEY_SALT": ("", "Mixed into the hashes that stand for API keys, so that they mean nothing elsewhere."),
    "TOOLFOLD_REQUESTS_PER_DAY": (
        "",
        "Requests a key may make in a day, by our own count; empty = the upstream decides.",
    ),
    "TOOLFOLD_REQUESTS_PER_SECOND": ("", "Requests a key may make in a second; empty = learned from the upstream."),
    "TOOLFOLD_MAX_QUEUE_WAIT_S": ("3", "Seconds a call may wait for its turn, or because the upstream asks it to."),
    "TOOLFOLD_QUOTA_RECHECK_S": ("3600", "Seconds after which a key whose daily calls are used up is tried again."),
    "TOOLFOLD_RETRIES": ("2", "How often a request that failed in passing is repeated; 0 = never."),
    "TOOLFOLD_RETRY_BACKOFF_S": ("0.3", "Seconds before the first repetition; doubled for each further one."),
    "TOOLFOLD_BREAKER_FAILURES": ("5", "Failed calls in a row after which a source is left alone."),
    "TOOLFOLD_BREAKER_COOLDOWN_S": ("30", "Seconds for which it is."),
    "TOOLFOLD_SECRET_TTL_S": ("300", "Seconds an API key read from AWS is used before it is read again."),
    "TOOLFOLD_SECRET_TIMEOUT_S": ("2", "Seconds to wait for AWS when it is read: to connect, and for the answer."),
    "TOOLFOLD_MAX_TOKENS": (
        "8000",
        "Tokens of an answer from which a model gets a preview, unless the call says else.",
    ),
    "TOOLFOLD_MAX_TOKENS_CEILING": ("50000", "Most tokens that a call may ask for with max_tokens."),
    "TOOLFOLD_OFFLOAD": (
        "",
        "Where the whole of a long answer is kept: s3://bucket/prefix, a folder, or off. "
        "Over stdio and at a terminal empty is a folder in the user's cache folder; elsewhere it is off.",
    ),
    "TOOLFOLD_PRESIGNED_URL_TTL_S": ("3600", "Seconds for which a link to it in S3 can be opened; at most 86400."),
    "TOOLFOLD_LOG_LEVEL": ("INFO", "From which level on the HTTP server logs: DEBUG, INFO, WARNING or ERROR."),
    "TOOLFOLD_TRACE": ("false", "On Lambda: whether to record traces with AWS X-Ray."),
    "TOOLFOLD_ALLOW_KEY_IN_QUERY": ("false", "Whether the address may carry the API key as ?apikey=."),
    "TOOLFOLD_ALLOWED_ORIGINS": ("", "Comma-separated web origins that may call over HTTP; * allows every origin."),
}
"""Name → (default, meaning). 25 s stays below the 30 s after which an API Gateway HTTP API gives up; 25 MB holds the
longest histories that the upstream has, and what a model gets of them is bounded elsewhere."""

_SOURCE_URL_PREFIX, _SOURCE_URL_SUFFIX = "TOOLFOLD_SOURCE_", "_URL"
_YES_NO = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
    "": False,
}


@dataclass(frozen=True)
class Settings:
    """The settings in force. Times in seconds, sizes in bytes."""

    catalog: str
    catalog_max_age_s: float
    s3_timeout_s: float
    source_urls: Mapping[str, str]
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
    key_salt: str = field(repr=False)
    requests_per_day: int | None
    requests_per_second: float | None
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
    trace: bool
    allow_key_in_query: bool
    allowed_origins: tuple[str, ...]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from ``environment`` (default: the process's).

        Raises:
            SettingsError: a value that cannot be read, naming the variable.
        """
        read = os.environ if environment is None else environment

        def text(name: str) -> str:
            return read.get(name, VARIABLES[name][0]).strip()

        def number(name: str) -> float:
            return _positive(name, text(name))

        return cls(
            catalog=text("TOOLFOLD_CATALOG"),
            catalog_max_age_s=number("TOOLFOLD_CATALOG_MAX_AGE_S"),
            s3_timeout_s=number("TOOLFOLD_S3_TIMEOUT_S"),
            source_urls={
                name[len(_SOURCE_URL_PREFIX) : -len(_SOURCE_URL_SUFFIX)].lower(): value.strip()
                for name, value in read.items()
                if name.startswith(_SOURCE_URL_PREFIX) and name.endswith(_SOURCE_URL_SUFFIX) and value.strip()
            },
            connect_timeout_s=number("TOOLFOLD_CONNECT_TIMEOUT_S"),
            timeout_s=number("TOOLFOLD_TIMEOUT_S"),
            deadline_margin_s=number("TOOLFOLD_DEADLINE_MARGIN_S"),
            max_response_bytes=int(number("TOOLFOLD_MAX_RESPONSE_BYTES")),
            cache=_cache(text("TOOLFOLD_CACHE")),
            cache_bucket=_bucket(text("TOOLFOLD_CACHE_BUCKET")),
            cache_memory_bytes=int(number("TOOLFOLD_CACHE_MEMORY_BYTES")),
            cache_file_bytes=int(number("TOOLFOLD_CACHE_FILE_BYTES")),
            cache_timeout_s=number("TOOLFOLD_CACHE_TIMEOUT_S"),
            cache_cooldown_s=number("TOOLFOLD_CACHE_COOLDOWN_S"),
            stale_if_error_s=_count("TOOLFOLD_STALE_IF_ERROR_S", text("TOOLFOLD_STALE_IF_ERROR_S")),
            no_data_ttl_s=number("TOOLFOLD_NO_DATA_TTL_S"),
            negative_ttl_s=number("TOOLFOLD_NEGATIVE_TTL_S"),
            key_salt=text("TOOLFOLD_KEY_SALT"),
            requests_per_day=_count("TOOLFOLD_REQUESTS_PER_DAY", text("TOOLFOLD_REQUESTS_PER_DAY")) or None,
            requests_per_second=number("TOOLFOLD_REQUESTS_PER_SECOND")
            if text("TOOLFOLD_REQUESTS_PER_SECOND")
            else None,
            max_queue_wait_s=number("TOOLFOLD_MAX_QUEUE_WAIT_S"),
            quota_recheck_s=number("TOOLFOLD_QUOTA_RECHECK_S"),
            retries=_count("TOOLFOLD_RETRIES", text("TOOLFOLD_RETRIES")),
            retry_backoff_s=number("TOOLFOLD_RETRY_BACKOFF_S"),
            breaker_failures=int(number("TOOLFOLD_BREAKER_FAILURES")),
            breaker_cooldown_s=number("TOOLFOLD_BREAKER_COOLDOWN_S"),
            secret_ttl_s=number("TOOLFOLD_SECRET_TTL_S"),
            secret_timeout_s=number("TOOLFOLD_SECRET_TIMEOUT_S"),
            max_tokens=int(number("TOOLFOLD_MAX_TOKENS")),
            max_tokens_ceiling=int(number("TOOLFOLD_MAX_TOKENS_CEILING")),
            offload=_offload(text("TOOLFOLD_OFFLOAD")),
            presigned_url_ttl_s=_link_s(number("TOOLFOLD_PRESIGNED_URL_TTL_S")),
            log_level=_level(text("TOOLFOLD_LOG_LEVEL")),
            trace=_yes_no("TOOLFOLD_TRACE", text("TOOLFOLD_TRACE")),
            allow_key_in_query=_yes_no("TOOLFOLD_ALLOW_KEY_IN_QUERY", text("TOOLFOLD_ALLOW_KEY_IN_QUERY")),
            allowed_origins=tuple(
                origin.strip().rstrip("/") for origin in text("TOOLFOLD_ALLOWED_ORIGINS").split(",") if origin.strip()
            ),
        )


def _positive(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise SettingsError(f"{name} must be a number above 0, not {value!r}.")
    return number


def _count(name: str, value: str) -> int:
    """A whole number from 0; empty counts as 0."""
    if value and not (value.isascii() and value.isdigit() and len(value) < 10):
        raise SettingsError(f"{name} must be a whole number, not {value!r}.")
    return int(value or 0)


def _cache(value: str) -> str:
    """``dynamodb://`` names a table and nothing more; other addresses are a mistake, not the name of a file."""
    table = value.removeprefix("dynamodb://")
    if "://" in value and (table == value or not table or not re.fullmatch(r"[A-Za-z0-9_.-]+", table)):
        raise SettingsError(f"TOOLFOLD_CACHE must be empty, memory, off, a path or dynamodb://table, not {value!r}.")
    return value


def _bucket(value: str) -> str:
    if value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"TOOLFOLD_CACHE_BUCKET must be empty or s3://bucket/prefix, not {value!r}.")
    return value


def _offload(value: str) -> str:
    """A bucket or a folder; other addresses are a mistake, not the name of a folder."""
    if "://" in value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"TOOLFOLD_OFFLOAD must be s3://bucket/prefix, a folder or off, not {value!r}.")
    return value


def _link_s(seconds: float) -> float:
    """Signed links of a role end with its credentials, a day at the latest."""
    if not 1 <= seconds <= 86400:
        raise SettingsError(f"TOOLFOLD_PRESIGNED_URL_TTL_S must be from 1 to 86400, not {seconds:g}.")
    return seconds


def _level(name: str) -> str:
    if name.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError(f"TOOLFOLD_LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not {name!r}.")
    return name.upper()


def _yes_no(name: str, value: str) -> bool:
    try:
        return _YES_NO[value.lower()]
    except KeyError:
        raise SettingsError(f"{name} must be true or false, not {value!r}.") from None
