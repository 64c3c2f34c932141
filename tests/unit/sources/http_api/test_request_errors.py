"""The errors that a model receives when a request has no response."""

import re

import pytest

from toolfold.catalog.model import Catalog
from toolfold.cli.error_text import for_person
from toolfold.errors import UpstreamTimeout
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


def test_each_has_a_sentence_and_a_next_step_without_placeholders(catalog: Catalog) -> None:
    for kind in CLASSES:
        error = to_call_error(kind("api.example"), catalog.source("alpha_vantage"), 25_000_000)
        for text in (error.message, error.suggestion):
            assert re.fullmatch(r"[^{}]+\.", text.replace("http://name:password@host:port", ""))
        is_retryable = issubclass(kind, errors.RetryableTransportError)
        assert isinstance(error, Retryable) is is_retryable
        timeouts = errors.ConnectTimeout | errors.DeadlineBeforeConnection | errors.ReadTimeout
        assert isinstance(error, UpstreamTimeout) is issubclass(kind, timeouts)
        assert isinstance(error, NotSent) is issubclass(kind, errors.NotSent)


def test_a_person_reads_which_variable_has_the_url_of_the_source(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_PETS_URL", "https://pets.test")  # of another source
    error = to_call_error(errors.ConnectionRefused("api.example"), catalog.source("alpha_vantage"), 25_000_000)
    assert "(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL)" in for_person(error)[1]
