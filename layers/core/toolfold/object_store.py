"""S3, for whoever reads or writes it on the road of a request: obstore, which is imported when it is first needed."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any


def open_bucket(bucket: str, prefix: str, timeout_s: float, retries: int) -> Any:
    """obstore's store for the objects of ``bucket`` below ``prefix``.

    Each question to it may take ``timeout_s`` seconds, ``retries`` repetitions included.

    Credentials and region are the environment's, an endpoint other than AWS's as well.

    Raises:
        ImportError: obstore, or boto3 where credentials are in profiles, is not installed.
    """
    from obstore.store import S3Store

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint, "virtual_hosted_style_request": False}
    if not os.environ.get("AWS_ACCESS_KEY_ID") and not os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        # On a laptop credentials are in profiles, which boto3 knows how to read.
        from obstore.auth.boto3 import Boto3CredentialProvider

        options["credential_provider"] = Boto3CredentialProvider()
    limit = timedelta(seconds=timeout_s)
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        client_options={"timeout": limit, "allow_http": endpoint is not None},
        # A question that took all the time there is leaves none for another.
        retry_config={"max_retries": retries, "retry_timeout": limit},
        **options,
    )
