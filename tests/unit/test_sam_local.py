"""`sam local`: SAM names resources of the template that do not exist there."""

import pytest

from toolfold.settings.file import use_stand_ins

OF_TEMPLATE = {
    "TOOLFOLD_ACCESS": "iam",
    "TOOLFOLD_CATALOG": "s3://CatalogBucket/catalog",
    "TOOLFOLD_CACHE": "dynamodb://CacheTable",
    "TOOLFOLD_CACHE_BUCKET": "s3://OffloadBucket/cache",
    "TOOLFOLD_OFFLOAD": "s3://OffloadBucket/results",
    "TOOLFOLD_APPROVAL_SECRET": "ApprovalSecret",
    "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
}
OPENED = {"TOOLFOLD_ACCESS": "", "TOOLFOLD_OAUTH_ISSUER": "", "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
STAND_INS = {
    "TOOLFOLD_CATALOG": "",
    "TOOLFOLD_CACHE": "memory",
    "TOOLFOLD_CACHE_BUCKET": "",
    "TOOLFOLD_OFFLOAD": "/tmp/toolfold",
    "TOOLFOLD_APPROVAL_SECRET": "",
}


@pytest.mark.parametrize(
    ("variables", "replaced"),
    [
        (OF_TEMPLATE, {**STAND_INS, **OPENED}),
        ({}, OPENED),
        ({"TOOLFOLD_OFFLOAD": "s3://OffloadBucketOfMine/x"}, OPENED),
        ({"TOOLFOLD_CACHE": "dynamodb://CacheTable"}, {"TOOLFOLD_CACHE": "memory", **OPENED}),
    ],
)
def test_sam_local_replaces_what_the_template_names_and_nothing_else(
    variables: dict[str, str], replaced: dict[str, str]
) -> None:
    for name, value in (("AWS_SAM_LOCAL", "true"), ("AWS_SAM_LOCAL", "false"), ("OTHER", "true")):
        environment = {**variables, name: value}
        is_local = (name, value) == ("AWS_SAM_LOCAL", "true")
        expected = {**environment, **(replaced if is_local else {})}
        assert use_stand_ins(environment) == (replaced if is_local else {})
        assert environment == expected
