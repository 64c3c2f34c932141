"""Where AWS's credentials come from: the environment, the endpoint of a container, or botocore where it is installed.

Lambda has them in the environment. A function that was restored from a snapshot (SnapStart), ECS and EKS ask an
endpoint on their own machine, again and again: what that hands out ends after some hours. Profiles and single sign-on
on a laptop are botocore's to read.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("toolfold")

_EARLY_S = 360.0
"""Seconds before their end in which credentials are renewed. obstore asks for others five minutes before."""

_PAUSE_S = 10.0
"""Seconds between two attempts to renew some that can still be used."""

_TIMEOUT_S = 2.0
_LONGEST = 64 << 10
_ECS = "169.254.170.2"
_LINK_LOCAL = frozenset({_ECS, "169.254.170.23", "fd00:ec2::23"})
"""Where ECS and EKS answer, over plain HTTP:
https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html"""


class AwsError(Exception):
    """AWS refused, could not be asked, or said what makes no sense.

    ``code`` is one word: the service's own (``ThrottlingException``), or the kind of failure (``ReadTimeoutError``). It
    may be logged. ``reply`` is what came with it, and may not.
    """

    def __init__(self, code: str, reply: dict[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code, self.reply = code, reply or {}


@dataclass(frozen=True)
class Credentials:
    """``token`` is empty for a user's own; ``expires_at`` (seconds since 1970) is 0 where it is not known."""

    key_id: str
    secret_key: str = field(repr=False)
    token: str = field(default="", repr=False)
    expires_at: float = 0.0


_lock = threading.Lock()
_held: Credentials | None = None
_renew_at = 0.0


def current() -> Credentials:
    """Credentials to sign with now.

    Raises:
        AwsError: there are none, or they are not to be had at the moment.
    """
    found = from_environment()
    if found is not None:
        return found
    address = _container_address()
    with _lock:
        return _from_container(address) if address else _from_botocore()


def region() -> str:
    """The region by ``AWS_REGION``, ``AWS_DEFAULT_REGION``, or the profile where botocore is installed; or empty.

    Raises:
        AwsError: the profile cannot be read.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if os.environ.get(name):
            return os.environ[name]
    with _lock:
        try:
            session = _session()
            return (session and session.get_config_variable("region")) or ""
        except Exception as error:  # noqa: BLE001 - botocore's have no base in common
            raise AwsError(type(error).__name__) from None


def forget() -> None:
    """Hold nothing of before: whoever signs next asks anew."""
    global _held, _renew_at
    with _lock:
        _held, _renew_at = None, 0.0
        _session.cache_clear()


def from_environment() -> Credentials | None:
    """Those of the environment, where they are complete."""
    key_id, secret_key = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if not key_id or not secret_key:
        return None
    return Credentials(key_id, secret_key, os.environ.get("AWS_SESSION_TOKEN", ""))


def _container_address() -> str:
    relative = os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    return f"http://{_ECS}{relative}" if relative else os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")


def _from_container(address: str) -> Credentials:
    global _held, _renew_at  # noqa: PLW0603 - one for the process, as its environment is; the lock is held
    now = time.time()
    usable = _held if _held is not None and now < _held.expires_at else None
    if usable is not None and now < _renew_at:
        return usable
    try:
        _held = _asked(address)
    except Exception as error:  # noqa: BLE001 - of the address, a file, JSON or the reply's form
        # Never the error's text: it may quote what was answered.
        what = error.code if isinstance(error, AwsError) else f"Credentials{type(error).__name__}"
        if usable is None:
            raise AwsError(what) from None
        logger.warning("the credentials of AWS cannot be renewed (%s); the old ones are still good", what)
        _renew_at = now + _PAUSE_S
        return usable
    _renew_at = max(_held.expires_at - _EARLY_S, now + _PAUSE_S)
    return _held


def _asked(address: str) -> Credentials:
    import json
    import math
    from datetime import UTC, datetime
    from urllib.parse import urlsplit

    from toolfold.network.session import TransportError, send

    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(parts.hostname or "")):
        raise AwsError("CredentialsAddressForbidden")  # the token would be sent to whoever is there, for all to read
    try:
        answer = send(
            "GET",
            address,
            {"Accept": "application/json", **_authorization()},
            None,
            connect_s=_TIMEOUT_S,
            answer_s=_TIMEOUT_S,
            deadline=math.inf,
            limit=_LONGEST,
            again=True,
            trusted=("AWS_CA_BUNDLE",),
            proxied=False,  # the endpoint is this machine's own
        )
    except TransportError as error:
        raise AwsError(f"Credentials{error.code}") from None
    if answer.status != 200:
        raise AwsError(f"CredentialsHttp{answer.status}")
    found = json.loads(answer.body)
    ends = datetime.fromisoformat(found["Expiration"])
    ends = ends if ends.tzinfo else ends.replace(tzinfo=UTC)
    return Credentials(
        str(found["AccessKeyId"]), str(found["SecretAccessKey"]), str(found.get("Token") or ""), ends.timestamp()
    )


def _is_here(host: str) -> bool:
    from ipaddress import ip_address

    if host == "localhost" or host in _LINK_LOCAL:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _authorization() -> dict[str, str]:
    path, token = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"), ""
    if path:
        with open(path, encoding="ascii") as file:  # EKS writes a new one every few hours
            token = file.read(_LONGEST).strip()
    token = token or os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    return {"Authorization": token} if token else {}


def _from_botocore() -> Credentials:
    """botocore renews them itself."""
    try:
        session = _session()
        found = session.get_credentials() if session else None
        frozen = found.get_frozen_credentials() if found else None
    except Exception as error:  # noqa: BLE001 - as above
        raise AwsError(type(error).__name__) from None
    if frozen is None:
        raise AwsError("NoCredentialsError")
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token or "")


@functools.cache
def _session() -> Any:
    try:
        from botocore.session import Session
    except ImportError:
        return None
    return Session()
