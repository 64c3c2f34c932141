"""The errors that a model receives when a request has no response."""

import re

import pytest

from toolfold.catalog.model import Catalog
from toolfold.errors import AnswerTooLarge, UpstreamError, UpstreamTimeout
from toolfold.network import errors
from toolfold.network.errors import NotSent
from toolfold.sources.base import Retryable
from toolfold.sources.http_api.request import to_call_error

CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.TransportError) and "reason" in vars(kind)
][1:]
"""All but the base class."""


@pytest.mark.parametrize("kind", CLASSES)
def test_each_has_a_sentence_and_a_next_step_without_placeholders(
    kind: type[errors.TransportError], catalog: Catalog
) -> None:
    error = to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 25_000_000)
    for text in (error.message, error.suggestion):
        assert re.fullmatch(r"[^{}]+\.", text.replace("http://name:password@host:port", ""))
    is_retryable = issubclass(kind, errors.RetryableTransportError)
    assert is_retryable is not issubclass(kind, errors.PermanentTransportError)
    assert isinstance(error, Retryable) is is_retryable
    assert isinstance(error, UpstreamTimeout) is issubclass(
        kind, errors.ConnectTimeout | errors.DeadlineBeforeConnection | errors.ReadTimeout
    )
    assert isinstance(error, NotSent) is issubclass(kind, errors.NotSent)


@pytest.mark.parametrize(
    ("kind", "code"), [(errors.ResponseTooLarge, AnswerTooLarge), (errors.DecompressionBomb, UpstreamError)]
)
def test_a_response_that_is_too_large_is_the_callers_to_make_smaller(
    kind: type[errors.TransportError], code: type[Exception], catalog: Catalog
) -> None:
    error = to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 2_500_000, "Ask for less.")
    assert type(error) is code
    assert (error.suggestion == "Ask for less.") is (code is AnswerTooLarge)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (errors.NameResolutionError, "Cannot connect to api.example: DNS lookup failed."),
        (errors.LookupsExhausted, "Cannot connect to api.example: DNS lookups do not end."),
        (errors.ConnectionRefused, "Cannot connect to api.example: connection refused."),
        (
            errors.CertificateError,
            "TLS certificate check failed for api.example: the issuer of the certificate is not trusted.",
        ),
        (errors.ConnectTimeout, "Alpha Vantage cannot be reached in time: there was no connection to api.example."),
        (errors.ReadTimeout, "Alpha Vantage did not answer in time."),
        (errors.ConnectionBroken, "api.example closed the connection before the response was complete."),
        (errors.ResponseTooLarge, "The response is larger than 2.5 MB."),
    ],
)
def test_messages_name_the_host(kind: type[errors.TransportError], message: str, catalog: Catalog) -> None:
    assert to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 2_500_000).message == message
