"""The settings in force, as one typed value."""

# Without `from __future__ import annotations`, as `variables`.
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.errors import SettingsError
from toolfold.settings.names import PREFIX, check_names, keyed_sources, source_urls
from toolfold.settings.variables import VARIABLES

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
    batch: bool
    pipe: bool
    scripts: bool
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

    @property
    def switched_off(self) -> frozenset[str]:
        """The tools that combine several calls and that a variable switches off."""
        switches = (("TOOL_BATCH", self.batch), ("TOOL_PIPE", self.pipe), ("TOOL_SCRIPT", self.scripts))
        return frozenset(name for name, is_on in switches if not is_on)

    def __repr__(self) -> str:
        shown = ((name, value) for name, value in zip(self._fields, self, strict=True) if name not in _HIDDEN)
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown)})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Read the settings from ``environment``, by default that of the process.

        Raises:
            SettingsError: a value cannot be parsed, or a name is misspelt; names the variable.
        """
        variables = os.environ if environment is None else environment
        check_names(variables)
        values = {
            name.removeprefix(PREFIX).lower(): variable.parse(name, variables.get(name, variable.default).strip())
            for name, variable in VARIABLES.items()
            if "<" not in name
        }
        _check_oauth(values)
        ignored = values["ignored_variables"]
        return cls(
            source_urls=source_urls(variables, ignored), keyed_sources=keyed_sources(variables, ignored), **values
        )


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
            f"{PREFIX}{dependent[0].upper()} needs TOOLFOLD_OAUTH_ISSUER; no token is required without."
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
