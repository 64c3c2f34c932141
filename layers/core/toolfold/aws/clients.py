"""Clients of AWS services, made when they are first used and shared by everything that calls AWS.

They are boto3's clients, made by botocore's session. boto3's own session adds resources and file transfers, which
nothing here uses and whose import a first call would wait for. botocore is imported by the first client.

Endpoints other than AWS's own (``AWS_ENDPOINT_URL``, ``AWS_ENDPOINT_URL_DYNAMODB`` …), ``AWS_CA_BUNDLE``, profiles,
single sign-on and the credentials of containers are read by botocore itself, and proxies by toolfold's HTTP client:
https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
"""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.network.session import HttpClient

_CODE = r"[A-Za-z][A-Za-z0-9.]{2,79}\Z|[1-5][0-9]{2}\Z"
"""What AWS's error codes look like. Other text in their place could quote a request."""

_CODE_IN_TEXT = (
    r"<Code>([A-Za-z][A-Za-z0-9.]{2,79})</Code>|\bstatus: ([1-5][0-9]{2})\b"
    r"|\b(?:kind: |inner: (?=Bare))([A-Z][A-Za-z]+)"
)
"""Where the text of an error of obstore has the code of S3, the status or what happened, ``Timeout`` for one."""

_CREDENTIALS_TTL_S = 600
"""botocore renews credentials at the latest this long before they end (``RefreshableCredentials``), so what it returns
is good for this long. obstore requests new ones five minutes earlier."""


class AwsClients:
    """Create clients and keep them. Creating an instance costs nothing. Safe to use from many threads."""

    def __init__(self) -> None:
        self._shared_session: Any = None
        self._loader: Any = None
        self._clients: dict[tuple[str, str, float], Any] = {}
        self._lock = threading.RLock()
        self._http_client: HttpClient | None = None

    def client(self, service: str, *, timeout_s: float, region: str = "") -> Any:
        """Return the client of ``service``, as boto3 names it.

        A request is sent once, because a retry of ``UpdateItem`` could increment a counter twice. The only exception is
        a read whose idle connection the server had closed; see :func:`~toolfold.aws.http_session.retry_read`.

        Args:
            service: for example ``dynamodb``.
            timeout_s: seconds to connect, and as many for the request and all of its response.
            region: a region other than the environment's.

        Raises:
            botocore.exceptions.BotoCoreError: no credentials, no region, or an unreadable profile.
        """
        key = (service, region, timeout_s)
        with self._lock:
            if key not in self._clients:
                # A client without credentials never looks for them again, so it must not be kept.
                self.credentials()
                self._clients[key] = self._create_client(service, timeout_s, region)
            return self._clients[key]

    def credentials(self) -> Any:
        """Return botocore's ``ReadOnlyCredentials`` (access key, secret key, token) to sign with now.

        Raises:
            botocore.exceptions.BotoCoreError: No credentials are configured, or they cannot be read.
        """
        with self._lock:
            found = self._session().get_credentials()
            if found is None:
                from botocore.exceptions import NoCredentialsError

                raise NoCredentialsError
            return found.get_frozen_credentials()

    def session_end(self, unknown_s: float) -> float:
        """Return when the credentials expire, in seconds since the epoch; infinity for keys of a user.

        What is signed with them, a presigned URL for example, is valid no longer:
        https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-presigned-url.html

        Args:
            unknown_s: seconds from now to assume for a session token without a known end, as Lambda sets it.

        Raises:
            botocore.exceptions.BotoCoreError: No credentials are configured, or they cannot be read.
        """
        with self._lock:
            frozen = self.credentials()
            # botocore has no public name for it. Without it the end counts as unknown.
            end = getattr(self._session().get_credentials(), "_expiry_time", None)
        if end is not None:
            return float(end.timestamp())
        return time.time() + unknown_s if frozen.token else math.inf

    def open_bucket(self, bucket: str, prefix: str, *, timeout_s: float) -> Any:
        """Return obstore's store of the objects in ``bucket`` below ``prefix``, for reads before the first response.

        obstore imports in 8 ms, boto3 in 170. It reads credentials from the environment, as Lambda sets them. Others
        (containers, SnapStart, profiles, single sign-on) are read by boto3: obstore knows neither profiles nor the
        token variable of SnapStart's endpoint. One request takes ``timeout_s`` at most, retries included.

        Raises:
            ImportError: obstore is not installed.
            botocore.exceptions.BotoCoreError: there are no credentials.
        """
        from datetime import timedelta

        from obstore.store import S3Store

        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        options: dict[str, Any] = {"endpoint": endpoint, "virtual_hosted_style_request": False} if endpoint else {}
        if not (os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY")):
            self.credentials()  # raises botocore's error, which names the reason; obstore's does not
            from obstore.auth.boto3 import Boto3CredentialProvider

            ttl = timedelta(seconds=_CREDENTIALS_TTL_S)
            options["credential_provider"] = Boto3CredentialProvider(self._session(), ttl=ttl)
        timeout = timedelta(seconds=timeout_s)
        return S3Store(
            bucket,
            prefix=prefix or None,
            region=_region_of_environment() or self._session().get_config_variable("region") or "us-east-1",
            client_options={"timeout": timeout, "allow_http": bool(endpoint)},
            retry_config={"max_retries": 2, "retry_timeout": timeout},
            **options,
        )

    def preload(self, *services: str) -> None:
        """Import botocore and load the descriptions of ``services``, for an environment that no request waits for.

        No credentials are read and no connection is opened. The descriptions outlive :meth:`reset`; with them a client
        takes 9 ms instead of 45.
        """
        with self._lock:
            unused = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "-")
            for service in services:
                self._create_client(service, timeout_s=1.0, region="us-east-1", **unused)

    def reset(self) -> None:
        """Close all connections and drop the clients and credentials."""
        with self._lock:
            http_client, self._http_client, self._shared_session = self._http_client, None, None
            self._clients.clear()
        if http_client is not None:
            http_client.close()

    def _create_client(self, service: str, timeout_s: float, region: str, **credentials: str) -> Any:
        from botocore.config import Config

        from toolfold.aws.http_session import HttpSession, retry_read
        from toolfold.network.session import HttpClient

        config = Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            # botocore still signs URLs for S3 with version 2 in some regions.
            signature_version="s3v4" if service == "s3" else None,
            # What is stored in S3 carries its own hash.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            user_agent_extra=f"toolfold/{__version__}",
        )
        session = self._session()
        client = session.create_client(service, region_name=region or None, config=config, **credentials)
        client.meta.events.register("needs-retry", retry_read)
        if self._http_client is None:
            self._http_client = HttpClient(session.get_config_variable("ca_bundle") or "")
        client._endpoint.http_session = HttpSession(self._http_client, timeout_s)  # there is no public way to another
        return client

    def _session(self) -> Any:
        """Return the session that all clients share, made by the first."""
        import botocore.session

        with self._lock:
            if self._shared_session is None:
                # At DEBUG botocore logs every response, and so the values of secrets. Lambda's "application log level"
                # would turn that on for all libraries.
                botocore_logger = logging.getLogger("botocore")
                botocore_logger.setLevel(max(botocore_logger.level, logging.WARNING))
                self._shared_session = session = botocore.session.get_session()
                self._loader = self._loader or session.get_component("data_loader")
                session.register_component("data_loader", self._loader)
                # botocore itself does not read AWS_REGION, which other SDKs and Lambda set.
                if region := _region_of_environment():
                    session.set_config_variable("region", region)
            return self._shared_session


def error_code(error: BaseException) -> str:
    """Return what may be logged of ``error``: AWS's own code, the words of the system, or the exception's name.

    An exception's text may hold a URL, an ARN, a path or a key.

    >>> error_code(TimeoutError("https://example.com/?key=1"))
    'TimeoutError'
    """
    if type(error).__name__ == "HTTPClientError" and error.__cause__ is not None:  # of toolfold's HTTP client
        return type(error.__cause__).__name__
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        code = str(response.get("Error", {}).get("Code", ""))
        status = str(response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
        return code if re.match(_CODE, code) else status or type(error).__name__
    if type(error) is OSError and error.errno:  # as of a disk that is full; other faults have a class of their own
        return os.strerror(error.errno)
    if name := getattr(error, "sqlite_errorname", ""):
        return str(name)
    found = re.search(_CODE_IN_TEXT, str(error))
    return found[found.lastindex or 0] if found else type(error).__name__


def _region_of_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
