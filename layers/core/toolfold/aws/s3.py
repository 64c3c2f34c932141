"""S3 by obstore, for the catalog: the first response waits for it, and obstore imports in 8 ms, boto3 in 170."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from toolfold.aws.clients import AwsClients

_CREDENTIALS_TTL = timedelta(minutes=10)
"""botocore renews credentials at the latest this long before they end (``RefreshableCredentials``), so what it returns
is good for this long. obstore requests new ones five minutes earlier."""


def open_bucket(bucket: str, prefix: str, *, timeout_s: float, max_retries: int, aws: AwsClients) -> Any:
    """Return obstore's store of the objects in ``bucket`` below ``prefix``.

    obstore reads credentials from the environment, as Lambda sets them. Others (containers, SnapStart, profiles, single
    sign-on) are read by boto3: obstore knows neither profiles nor the token variable of SnapStart's endpoint.

    Args:
        bucket: name of the bucket.
        prefix: what all keys begin with; may be empty.
        timeout_s: seconds that one request may take, retries included.
        max_retries: how often a failed request is sent again.
        aws: where credentials come from that are not in the environment.

    Raises:
        ImportError: obstore is not installed.
        botocore.exceptions.BotoCoreError: there are no credentials.
    """
    from obstore.store import S3Store

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {}
    if endpoint:
        options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
    if not (os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY")):
        aws.credentials()  # raises botocore's error, which names the reason; obstore's does not
        from obstore.auth.boto3 import Boto3CredentialProvider

        options["credential_provider"] = Boto3CredentialProvider(aws.session(), ttl=_CREDENTIALS_TTL)
    timeout = timedelta(seconds=timeout_s)
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=aws.region() or "us-east-1",
        client_options={"timeout": timeout, "allow_http": bool(endpoint)},
        retry_config={"max_retries": max_retries, "retry_timeout": timeout},
        **options,
    )
