"""The keys of sources that the operator sets, and whether callers who are not known could use them."""

# Without `from __future__ import annotations`, as `variables`.
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from toolfold.errors import SettingsError

if TYPE_CHECKING:
    from toolfold.settings.model import Settings


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


def check_key_is_guarded(settings: "Settings", environment: Mapping[str, str] | None = None) -> None:
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


def open_keys(settings: "Settings", environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables with keys that every caller of a public endpoint would use, and nothing says that it may.

    Args:
        settings: the settings in force.
        environment: environment variables (default: the process's).
    """
    if settings.oauth_issuer or settings.anyone_may_use_the_key:
        return []
    variables = os.environ if environment is None else environment
    names = {known.variable for known in BUILT_IN_SOURCES.values()}
    names.update(f"TOOLFOLD_SOURCE_{source.upper()}_KEY" for source in settings.keyed_sources)
    names.add("TOOLFOLD_SOURCE_KEYS")
    names.update(item.rpartition("=")[2] for item in settings.key_variables)
    return sorted(name for name in names if variables.get(name, "").strip())
