"""The signature of a request is the one that botocore's own signer makes."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from unittest.mock import patch

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import given
from hypothesis import strategies as st

from toolfold.aws.credentials import Credentials
from toolfold.aws.signature import sign

WORDS = st.text(string.ascii_letters + string.digits + "/+=", min_size=1, max_size=40)
OTHERS = {*botocore.auth.SIGNED_HEADERS_BLACKLIST, "x-amz-date", "x-amz-security-token", "authorization"}
"""Headers that are not signed, or that the signer itself sets."""

NAMES = st.text(string.ascii_letters + string.digits + "-", min_size=1, max_size=20).filter(
    lambda name: name.lower() not in OTHERS
)
VALUES = st.text(string.printable.strip() + " ", max_size=40)
SEGMENTS = st.text("abcXYZ019-._~%+ é", min_size=1, max_size=10).filter(lambda text: text.strip("."))
LAST_SECOND = 4_102_444_799  # of the year 2099


@given(
    headers=st.dictionaries(NAMES, VALUES, max_size=6),
    body=st.binary(max_size=500),
    service=st.sampled_from(["dynamodb", "secretsmanager", "ssm"]),
    region=st.sampled_from(["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1"]),
    keys=st.tuples(WORDS, WORDS, st.none() | WORDS),
    now=st.floats(0, LAST_SECOND),
    segments=st.lists(SEGMENTS, max_size=3),
)
def test_it_is_botocores(
    headers: dict[str, str],
    body: bytes,
    service: str,
    region: str,
    keys: tuple[str, str, str | None],
    now: float,
    segments: list[str],
) -> None:
    # Names that differ in their case alone are one header, of two values: we send none of those.
    headers = {name.lower(): value for name, value in headers.items()} | {"Host": "service.example:8000"}
    path = "/" + "/".join(segments)
    request = AWSRequest("POST", f"http://service.example:8000{path}", headers, body)
    with patch.object(botocore.auth, "get_current_datetime", lambda: datetime.fromtimestamp(int(now), UTC)):
        botocore.auth.SigV4Auth(TheirCredentials(*keys), service, region).add_auth(request)

    sent = sign(headers, body, service, region, Credentials(keys[0], keys[1], keys[2] or ""), now, path)

    assert sent == dict(request.headers.items())


def test_one_that_aws_has_published() -> None:
    """The "post-vanilla" case of the signature's own test suite."""
    example = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    moment = datetime(2015, 8, 30, 12, 36, tzinfo=UTC).timestamp()

    sent = sign({"Host": "example.amazonaws.com"}, b"", "service", "us-east-1", example, moment)

    assert sent["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    )
