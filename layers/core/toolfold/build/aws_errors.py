"""Errors of AWS in one sentence, with the next step, for commands and for the log of the publisher."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from toolfold.aws.clients import error_code
from toolfold.errors import BucketUnavailable

__all__ = ["explained"]

_SIGN_IN = "Sign in again, for example with `aws sso login`, or renew the credentials."
_CREDENTIALS = (
    "Set AWS_PROFILE, or run `aws configure` or `aws sso login`; `aws sts get-caller-identity` shows who you are."
)
_PERMISSIONS = (
    "The credentials need s3:GetObject and s3:PutObject on the prefix, and s3:ListBucket on the bucket{owner}."
)

_CAUSES: Mapping[str, tuple[str, str]] = {
    "NoSuchBucket": ("there is no bucket of that name", "The stack prints it as CatalogBucketName."),
    "AccessDenied": ("access was denied", _PERMISSIONS),
    "403": ("access was denied", _PERMISSIONS),
    "AllAccessDisabled": ("access was denied", _PERMISSIONS),
    "ExpiredToken": ("the AWS credentials are expired", _SIGN_IN),
    "ExpiredTokenException": ("the AWS credentials are expired", _SIGN_IN),
    "RequestExpired": ("the AWS credentials are expired", _SIGN_IN),
    "TokenRefreshRequired": ("the AWS credentials are expired", _SIGN_IN),
    "UnauthorizedSSOTokenError": ("the AWS sign-in is expired", _SIGN_IN),
    "SSOTokenLoadError": ("nobody is signed in to AWS", _SIGN_IN),
    "TokenRetrievalError": ("the AWS sign-in is expired", _SIGN_IN),
    "InvalidToken": ("AWS does not know the session token", _SIGN_IN),
    "InvalidClientTokenId": ("AWS does not know the access key", _CREDENTIALS),
    "InvalidAccessKeyId": ("AWS does not know the access key", _CREDENTIALS),
    "SignatureDoesNotMatch": ("the secret access key is wrong", _CREDENTIALS),
    "NoCredentialsError": ("there are no AWS credentials", _CREDENTIALS),
    "PartialCredentialsError": ("the AWS credentials are incomplete", _CREDENTIALS),
    "CredentialRetrievalError": ("the AWS credentials cannot be read", _CREDENTIALS),
    "ProfileNotFound": (
        "the profile in AWS_PROFILE does not exist",
        "`aws configure list-profiles` lists those that do.",
    ),
    "ConfigParseError": ("the AWS configuration file cannot be read", "Correct ~/.aws/config or AWS_CONFIG_FILE."),
    "NoRegionError": ("no AWS region is set", "Set AWS_REGION to the region of the bucket."),
    "RequestTimeTooSkewed": ("the clock of this machine is wrong", "Set the clock."),
    "EndpointConnectionError": ("AWS cannot be reached", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ConnectTimeoutError": ("AWS cannot be reached in time", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ReadTimeoutError": ("AWS did not answer in time", "Try again."),
    "ConnectionClosedError": (
        "the connection to AWS was closed",
        "Check the network, and AWS_ENDPOINT_URL if it is set.",
    ),
    "HTTPClientError": ("the request to AWS failed", "Check the network, and AWS_ENDPOINT_URL if it is set."),
    "ProxyConnectionError": ("the proxy cannot be reached", "Check HTTPS_PROXY."),
    "SSLError": ("the certificate of AWS was not accepted", "Behind a proxy that inspects TLS, set AWS_CA_BUNDLE."),
    **dict.fromkeys(
        ("PermanentRedirect", "301", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"),
        ("the bucket is in another region", "Set AWS_REGION to the region of the bucket{region}."),
    ),
    **dict.fromkeys(("SlowDown", "ServiceUnavailable", "503", "InternalError", "500"), ("S3 is busy", "Try again.")),
}
"""Error code of AWS, or class of an exception of botocore → what is wrong, and the next step."""


@contextmanager
def explained(what: str, owner: str = "") -> Iterator[None]:
    """Replace the errors of AWS that are raised inside by one sentence.

    Their own text may contain a URL or an ARN.

    Args:
        what: What did not happen, such as "Nothing was published to s3://bucket/prefix".
        owner: The account that requests say the bucket belongs to.

    Raises:
        BucketUnavailable: AWS refused, or was not reached.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise _explain(error, what, owner) from None


def _explain(error: Exception, what: str, owner: str) -> BucketUnavailable:
    code = error_code(error)
    names = (code, *(base.__name__ for base in type(error).__mro__))
    cause, step = next(
        (_CAUSES[name] for name in names if name in _CAUSES),
        (f"AWS answered {code}", "Check the bucket, the region and the credentials."),
    )
    response: Any = getattr(error, "response", None) or {}
    region = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("x-amz-bucket-region", "")
    known = region if re.fullmatch(r"[a-z0-9-]{4,30}", str(region)) else ""
    step = step.replace("{region}", f", {known}" if known else "")
    step = step.replace("{owner}", f", which must belong to account {owner} (else --bucket-owner)" if owner else "")
    return BucketUnavailable(f"{what}: {cause} ({code}).", step, code)
