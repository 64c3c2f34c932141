"""S3, for whoever reads or writes it on the road of a request: obstore, which is imported when it is first needed."""

from __future__ import annotations

import os
from typing import Any

from toolfold.aws import credentials


def open_bucket(bucket: str, prefix: str, timeout_s: float, retries: int) -> Any:
    """obstore's store for the objects of ``bucket`` below ``prefix``.

    Each question to it may take ``timeout_s`` seconds, ``retries`` repetitions included.

    Credentials are those of ``aws_credentials``, the region and an endpoint other than AWS's the environment's.

    Raises:
        ImportError: obstore is not installed.
        AwsError: there are no credentials.
    """
    from datetime import timedelta

    from obstore.store import S3Store

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint, "virtual_hosted_style_request": False}
    if credentials.from_environment() is None:  # those it reads itself
        credentials.current()  # now, where the error says more than obstore's
        options["credential_provider"] = _lend
    limit = timedelta(seconds=timeout_s)
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=credentials.region() or "us-east-1",
        client_options={"timeout": limit, "allow_http": endpoint is not None},
        # A question that took all the time there is leaves none for another.
        retry_config={"max_retries": retries, "retry_timeout": limit},
        **options,
    )


def _lend() -> dict[str, Any]:
    """Credentials as obstore wishes them. It asks again five minutes before they end, or, where that is not known, at
    each request."""
    from datetime import UTC, datetime

    found = credentials.current()
    return {
        "access_key_id": found.key_id,
        "secret_access_key": found.secret_key,
        "token": found.token or None,
        "expires_at": datetime.fromtimestamp(found.expires_at, UTC) if found.expires_at else datetime.now(UTC),
    }
