"""Everything the environment can set, read once into one typed value.

Every variable, its default and its meaning stand in :data:`VARIABLES`; ``docs/settings.md`` is held equal to it by a
test. API keys are not settings: they are read per call by ``calling.keys``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from toolfold.errors import SettingsError

VARIABLES: Mapping[str, tuple[str, str]] = {
    "TOOLFOLD_CATALOG": (
        "",
        "Where the catalog is: empty = the one in the package, a file path, or s3://bucket/prefix.",
    ),
    "TOOLFOLD_CATALOG_MAX_AGE_S": ("60", "Seconds a catalog from S3 is used before its pointer is looked at again."),
    "TOOLFOLD_SOURCE_<ID>_URL": ("", "Another address for a source, e.g. TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL."),
    "TOOLFOLD_CONNECT_TIMEOUT_S": ("5", "Seconds to wait for a connection to the upstream."),
    "TOOLFOLD_TIMEOUT_S": ("25", "Seconds a call to the upstream may take in all."),
    "TOOLFOLD_MAX_ANSWER_BYTES": ("2500000", "Largest upstream answer that is passed on, in bytes."),
    "TOOLFOLD_ALLOW_KEY_IN_QUERY": ("false", "Whether the address may carry the API key as ?apikey=."),
    "TOOLFOLD_ALLOWED_ORIGINS": ("", "Comma-separated web origins that may call over HTTP; * allows every origin."),
}
"""Name → (default, meaning). 25 s stays below the 30 s after which an API Gateway HTTP API gives up; 2.5 MB keeps the
answer, sent as text and as data and escaped twice, below the 6 MB that a Lambda function may return."""

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


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. Times in seconds, sizes in bytes."""

    catalog: str
    catalog_max_age_s: float
    source_urls: Mapping[str, str]
    connect_timeout_s: float
    timeout_s: float
    max_answer_bytes: int
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

        return cls(
            catalog=text("TOOLFOLD_CATALOG"),
            catalog_max_age_s=_positive("TOOLFOLD_CATALOG_MAX_AGE_S", text("TOOLFOLD_CATALOG_MAX_AGE_S")),
            source_urls={
                name[len(_SOURCE_URL_PREFIX) : -len(_SOURCE_URL_SUFFIX)].lower(): value.strip()
                for name, value in read.items()
                if name.startswith(_SOURCE_URL_PREFIX) and name.endswith(_SOURCE_URL_SUFFIX) and value.strip()
            },
            connect_timeout_s=_positive("TOOLFOLD_CONNECT_TIMEOUT_S", text("TOOLFOLD_CONNECT_TIMEOUT_S")),
            timeout_s=_positive("TOOLFOLD_TIMEOUT_S", text("TOOLFOLD_TIMEOUT_S")),
            max_answer_bytes=int(_positive("TOOLFOLD_MAX_ANSWER_BYTES", text("TOOLFOLD_MAX_ANSWER_BYTES"))),
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


def _yes_no(name: str, value: str) -> bool:
    try:
        return _YES_NO[value.lower()]
    except KeyError:
        raise SettingsError(f"{name} must be true or false, not {value!r}.") from None
