"""Adapters are found by name: those that are given, and built-in ones."""

import pytest

from toolfold.catalog.entries import Source
from toolfold.catalog.model import Catalog
from toolfold.errors import CatalogUnavailable
from toolfold.network.session import HttpClient
from toolfold.settings import Settings
from toolfold.sources.alpha_vantage import AlphaVantageAdapter
from toolfold.sources.base import AdapterContext, create_adapter
from toolfold.sources.http_api.adapter import HttpApiAdapter


class OtherAdapter(HttpApiAdapter):
    """An adapter that the package does not know."""


@pytest.fixture
def context() -> AdapterContext:
    return AdapterContext(Settings.from_environment({}), HttpClient)


def source(catalog: Catalog, adapter: str) -> Source:
    return catalog.source("alpha_vantage")._replace(kind=adapter)


@pytest.mark.parametrize(("name", "adapter"), [("alpha_vantage", AlphaVantageAdapter), ("http_api", HttpApiAdapter)])
def test_built_in_adapters_are_found(
    catalog: Catalog, context: AdapterContext, name: str, adapter: type[HttpApiAdapter]
) -> None:
    assert type(create_adapter(source(catalog, name), context)) is adapter


def test_a_given_adapter_replaces_a_built_in_one(catalog: Catalog, context: AdapterContext) -> None:
    made = create_adapter(source(catalog, "http_api"), context, {"http_api": OtherAdapter})
    assert type(made) is OtherAdapter


def test_an_adapter_of_an_unknown_kind_is_an_error(catalog: Catalog, context: AdapterContext) -> None:
    with pytest.raises(CatalogUnavailable, match="not installed"):
        create_adapter(source(catalog, "unknown"), context)
