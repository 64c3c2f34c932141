"""The setting TOOLFOLD_CACHE names a store."""

from __future__ import annotations

import pytest

from toolfold.aws.clients import AwsClients
from toolfold.cache.base import FailSafeStore
from toolfold.cache.factory import create_shared_store
from toolfold.settings import Settings


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("", None),
        ("memory", None),
        ("off", None),
        ("dynamodb://answers", FailSafeStore),
        ("/tmp/x.sqlite", FailSafeStore),
    ],
)
def test_a_store_is_not_opened_before_it_is_used(value: str, named: type | None) -> None:
    settings = Settings.from_environment({"TOOLFOLD_CACHE": value})
    found = create_shared_store(settings, lambda: 0.0, AwsClients())
    assert (found is None) if named is None else isinstance(found, named)
