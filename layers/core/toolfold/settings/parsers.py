"""Parse the values of environment variables: each function takes a name and a text, and returns the value.

Each raises :class:`SettingsError`, which names the variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def parse_text(_name: str, value: str) -> str:
    """Return any text as it is."""
    return value


def parse_encodable(name: str, value: str) -> str:
    """Check a text that is hashed or sent. Python decodes other bytes to surrogates, which cannot be encoded."""
    if not is_encodable(value):
        raise SettingsError(f"{name} must be valid UTF-8.")
    return value


def is_encodable(value: str) -> bool:
    """Return whether a text can be encoded as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_positive(name: str, value: str) -> float:
    """Parse a number above 0."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MAX_NUMBER:
        raise SettingsError(f"{name} must be a number above 0, not {_shown(value)}.")
    return number


def parse_timeout(name: str, value: str) -> float:
    """Parse seconds above 0, at most a day."""
    seconds = parse_positive(name, value)
    if seconds > _MAX_TIMEOUT_S:
        raise SettingsError(f"{name} must be at most {_MAX_TIMEOUT_S:.0f} seconds, not {_shown(value)}.")
    return seconds


def _shown(value: str) -> str:
    """Return ``value`` as it may be shown in one line of an error message."""
    return ascii(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")


def parse_positive_integer(name: str, value: str) -> int:
    """Parse a whole number from 1, also as ``25e6``."""
    number = parse_positive(name, value)
    if not number.is_integer():
        raise SettingsError(f"{name} must be a whole number above 0, not {_shown(value)}.")
    return int(number)


def parse_optional_positive(name: str, value: str) -> float | None:
    """Parse a number above 0; empty is None."""
    return parse_positive(name, value) if value else None


def parse_count(name: str, value: str) -> int:
    """Parse a whole number from 0; empty counts as 0."""
    if value and not (value.isascii() and value.isdigit() and len(value) < 10):
        raise SettingsError(f"{name} must be a whole number, not {_shown(value)}.")
    return int(value or 0)


def parse_optional_count(name: str, value: str) -> int | None:
    """Parse a whole number; empty and 0 are None."""
    return parse_count(name, value) or None


def parse_boolean(name: str, value: str) -> bool:
    """Parse true or false, and what else stands for them."""
    try:
        return _BOOLEANS[value.lower()]
    except KeyError:
        raise SettingsError(f"{name} must be true or false, not {_shown(value)}.") from None


def parse_cache(name: str, value: str) -> str:
    """Check a cache location. A URL other than ``dynamodb://TABLE`` is a mistake, not the name of a file."""
    table = value.removeprefix("dynamodb://")
    if "://" in value and (table == value or not re.fullmatch(r"[A-Za-z0-9_.-]+", table)):
        raise SettingsError(f"{name} must be empty, memory, off, a path or dynamodb://table, not {_shown(value)}.")
    return value


def parse_stored_keys(name: str, value: str) -> str:
    """Check a reference to a JSON object of keys. The value is not shown: it may be that object itself."""
    if value and not re.fullmatch(r"(ssm:/?|arn:aws[a-z-]*:(secretsmanager|ssm):)[A-Za-z0-9/_+=.@:-]+", value):
        raise SettingsError(
            f"{name} must be the ARN of a secret or parameter, or ssm:/NAME, without a #FIELD. The keys themselves do "
            "not belong there."
        )
    return value


def parse_bucket(name: str, value: str) -> str:
    """Check the address of a bucket; it may be empty."""
    if value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"{name} must be empty or s3://bucket/prefix, not {_shown(value)}.")
    return value


def parse_offload(name: str, value: str) -> str:
    """Check a bucket or folder. A URL other than ``s3://`` is a mistake, not the name of a folder."""
    if "://" in value and not re.match(r"s3://[a-z0-9]", value):
        raise SettingsError(f"{name} must be s3://bucket/prefix, a folder or off, not {_shown(value)}.")
    return value


def parse_presigned_url_ttl(name: str, value: str) -> float:
    """Parse seconds from 1 to a day."""
    seconds = parse_positive(name, value)
    if not 1 <= seconds <= MAX_PRESIGNED_URL_TTL_S:
        raise SettingsError(f"{name} must be from 1 to {MAX_PRESIGNED_URL_TTL_S}, not {seconds:g}.")
    return seconds


def parse_log_level(name: str, value: str) -> str:
    """Parse a log level, in upper or lower case."""
    if value.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError(f"{name} must be DEBUG, INFO, WARNING or ERROR, not {_shown(value)}.")
    return value.upper()


def parse_https_url(name: str, value: str) -> str:
    """Check a URL of HTTPS, or of this machine."""
    if value and not re.fullmatch(r"(https://[^\s/?#@]+|http://(localhost|127\.0\.0\.1)(:\d+)?)(/[^\s?#]*)?", value):
        raise SettingsError(f"{name} must be a URL that begins with https://, not {_shown(value)}.")
    return value


def parse_approve(name: str, value: str) -> str:
    """Parse who approves calls."""
    if value.lower() not in ("agent", "human", "deny"):
        raise SettingsError(f"{name} must be agent, human or deny, not {_shown(value)}.")
    return value.lower()


def parse_explorer(name: str, value: str) -> str:
    """Parse what the web explorer of a deployment does."""
    if value.lower() not in ("off", "read-only", "calls"):
        raise SettingsError(f"{name} must be off, read-only or calls, not {_shown(value)}.")
    return value.lower()


def parse_approval_secret(name: str, value: str) -> str:
    """Check a secret, or a reference to one in AWS, as those of API keys: see ``execution.secrets``."""
    if value and not value.startswith(("arn:", "ssm:")) and len(parse_encodable(name, value)) < 32:
        raise SettingsError(f"{name} must have at least 32 characters, or be the ARN of a secret.")
    return value


def parse_approval_ttl(name: str, value: str) -> float:
    """Parse seconds from 10 to a day."""
    seconds = parse_positive(name, value)
    if not 10 <= seconds <= 86400:
        raise SettingsError(f"{name} must be from 10 to 86400, not {seconds:g}.")
    return seconds


def parse_origins(name: str, value: str) -> tuple[str, ...]:
    """Parse web origins, separated by commas."""
    origins = tuple(origin.rstrip("/").lower() for origin in split_items(value))
    for origin in origins:
        if origin == "null":
            raise SettingsError(f"{name} cannot allow the origin null: any page can send it.")
        if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise SettingsError(f"{name} must be origins such as https://example.com, or *, not {_shown(origin)}.")
    return origins


def split_items(value: str) -> list[str]:
    """Split a text at its commas; empty items are left out."""
    return [item.strip() for item in value.split(",") if item.strip()]


def parse_comma_separated(_name: str, value: str) -> tuple[str, ...]:
    """Parse texts, separated by commas."""
    return tuple(split_items(value))


def parse_redirect_uris(name: str, value: str) -> tuple[str, ...]:
    """Parse URIs of HTTPS, of this machine, or of an application (RFC 8252); without patterns."""
    for item in (items := split_items(value)):
        if not re.fullmatch(r"[a-z][a-z0-9.+-]*://[^\s#*@]+", item) or (
            item.startswith("http://") and not re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?/", f"{item}/")
        ):
            raise SettingsError(f"{name} must be URIs that begin with https://, without patterns, not {_shown(item)}.")
    return tuple(items)


def parse_key_variables(name: str, value: str) -> tuple[str, ...]:
    """Parse names of environment variables, each after ``SOURCE=`` where it is for one source."""
    for item in (items := split_items(value)):
        if not re.fullmatch(r"([a-z][a-z0-9_]*=)?[A-Za-z_][A-Za-z0-9_]*", item):
            raise SettingsError(f"{name} must be names of variables, separated by commas, not {_shown(item)}.")
    return tuple(items)


MODE_SYNONYMS: Mapping[str, str] = {"individual": "direct"}
KIND_MODE_SYNONYMS: Mapping[str, str] = {"legacy": "inline"}
"""What other systems call a mode → the mode."""

_MODES = ("progressive", "lazy", "grouped", "direct", "kinds", "auto")
_KIND_MODES = ("progressive", "inline", "off")


def parse_mode(name: str, value: str) -> str:
    """Parse an exposure mode, or a synonym of one."""
    mode = MODE_SYNONYMS.get(value.lower(), value.lower())
    if mode and mode not in _MODES:
        raise SettingsError(f"{name} must be empty or one of {', '.join(_MODES)}, not {_shown(value)}.")
    return mode


def parse_kind_mode(name: str, value: str) -> str:
    """Parse how tools of one kind of source are shown, or a synonym of that."""
    mode = KIND_MODE_SYNONYMS.get(value.lower(), value.lower())
    if mode and mode not in _KIND_MODES:
        raise SettingsError(f"{name} must be empty or one of {', '.join(_KIND_MODES)}, not {_shown(value)}.")
    return mode


def parse_hosts(name: str, value: str) -> tuple[str, ...]:
    """Parse host names, each after ``SOURCE=`` where it is for one source, and with ``:PORT`` where that is not 443."""
    for item in (items := split_items(value.lower())):
        if not re.fullmatch(r"([a-z][a-z0-9_]*=)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]{1,5})?", item):
            raise SettingsError(
                f"{name} must be host names, separated by commas, without https:// and path, not {_shown(item)}."
            )
    return tuple(items)


def parse_names(name: str, value: str) -> tuple[str, ...]:
    """Parse names of variables; ``*`` at the end of one stands for any further characters."""
    for item in (items := split_items(value)):
        if not re.fullmatch(r"[A-Za-z0-9_]+\*?", item):
            raise SettingsError(f"{name} must be names of variables, separated by commas, not {_shown(item)}.")
    return tuple(items)


def parse_commands(name: str, value: str) -> tuple[str, ...]:
    """Parse the first words of commands, each after ``SOURCE=`` where it is for one source."""
    for item in (items := split_items(value)):
        try:
            import shlex  # few deployments need it

            words = shlex.split(re.sub(r"^[a-z][a-z0-9_]*=", "", item))
        except ValueError:
            words = []
        if not (words and words[0]):
            raise SettingsError(f"{name} must be commands, separated by commas, not {_shown(item)}.")
    return tuple(items)
