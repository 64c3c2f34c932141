"""An update of a stack of an earlier revision: what CloudFormation replaces, deletes, and cannot create.

``earlier_resources.json`` has the resources of two revisions of template.yaml, translated, with the properties whose
change replaces a resource. Which ones these are is in the resource schemas of CloudFormation, which cfn-lint brings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from tests.support.sam_template import REGION
from tests.support.stack import translated

EARLIER: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "earlier_resources.json").read_text())

KEEPS_DATA = {"AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup", "AWS::ApiGatewayV2::Api"}
"""Types with data, or, for the API, with the URL that clients know."""

REPLACEABLE = {"AWS::Lambda::Permission", "AWS::Lambda::LayerVersion", "AWS::Lambda::Version"}
"""Types that lose nothing when they are replaced, and whose names are not unique."""


def replaced(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The logical IDs in both whose type, or a property that cannot be updated in place, differs."""
    found = set()
    for name in before.keys() & after.keys():
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, after[name]["Type"]).schema
        fixed = {pointer.split("/")[2] for pointer in schema.get("createOnlyProperties", [])}
        old, new = before[name]["Properties"], after[name].get("Properties", {})
        if before[name]["Type"] != after[name]["Type"] or any(old.get(key) != new.get(key) for key in fixed):
            found.add(name)
    return found


def names(resources: Mapping[str, Any], logical: set[str]) -> set[tuple[str, str]]:
    """Type and physical name of the resources that have a fixed one."""
    return {
        (resources[one]["Type"], json.dumps(value, sort_keys=True))
        for one in logical
        for key, value in resources[one].get("Properties", {}).items()
        if key in ("Name", "BucketName", "TableName", "FunctionName", "RoleName", "LogGroupName")
        and resources[one]["Type"] not in REPLACEABLE
    }


@pytest.mark.parametrize("revision", EARLIER)
def test_nothing_with_data_or_an_address_is_replaced_or_deleted(revision: str) -> None:
    before, after = EARLIER[revision], translated()["Resources"]
    lost = replaced(before, after) | (before.keys() - after.keys())
    assert {before[name]["Type"] for name in lost} <= REPLACEABLE
    assert not {name for name in before.keys() - lost if before[name]["Type"] not in KEEPS_DATA} - after.keys()


@pytest.mark.parametrize("revision", EARLIER)
def test_no_new_resource_takes_the_name_of_one_that_is_deleted_afterwards(revision: str) -> None:
    before, after = EARLIER[revision], translated()["Resources"]
    created, deleted = after.keys() - before.keys(), before.keys() - after.keys()
    assert not names(after, set(created)) & names(before, set(deleted))


def test_the_comparison_finds_a_bucket_of_another_name_and_a_second_alias() -> None:
    before = translated()["Resources"]
    after = translated()["Resources"]
    after["CatalogBucket"]["Properties"]["BucketName"] = "catalog"
    after["GatewayFunctionAliaslive"] = after.pop("GatewayAlias")
    assert replaced(before, after) == {"CatalogBucket"}
    clash = names(after, {"GatewayFunctionAliaslive"}) & names(before, {"GatewayAlias"})
    assert ("AWS::Lambda::Alias", '"live"') in clash


def test_what_keeps_data_survives_a_replacement_and_buckets_the_stack() -> None:
    for name, one in translated()["Resources"].items():
        if one["Type"] == "AWS::S3::Bucket":
            assert (one["DeletionPolicy"], one["UpdateReplacePolicy"]) == ("Retain", "Retain"), name
        elif one["Type"] in KEEPS_DATA - {"AWS::ApiGatewayV2::Api"}:
            assert "DeletionPolicy" in one, name
