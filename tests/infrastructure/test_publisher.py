"""The catalog bucket's policy, and the publisher of template.yaml."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.support import sam_template

TEMPLATE = Path(__file__).parents[2] / "template.yaml"

Resource = dict[str, Any]


@pytest.fixture(scope="module")
def resources() -> dict[str, Resource]:
    return dict(sam_template.translate(sam_template.load(TEMPLATE))["Resources"])


def denied(resources: dict[str, Resource], action: str, key: str, **context: str) -> list[str]:
    """The statements of the bucket policy that deny ``action`` on the object ``key``."""
    found = []
    for statement in resources["CatalogBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]:
        actions, resource = statement["Action"], statement["Resource"]
        named = [text if isinstance(text, str) else text.get("Fn::Sub", "") for text in _list(resource)]
        patterns = [text.replace("${CatalogBucket.Arn}/", "").replace("${CatalogPrefix}", "catalog") for text in named]
        if not any(fnmatchcase(action, pattern) for pattern in _list(actions)):
            continue
        if any(fnmatchcase(key, pattern) for pattern in patterns) and _holds(statement.get("Condition", {}), context):
            assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
            found.append(statement["Sid"])
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _holds(condition: dict[str, Any], context: dict[str, str]) -> bool:
    names = {name.replace("_", "-").replace("s3-", "s3:"): value for name, value in context.items()}
    for operator, tests in condition.items():
        for key, expected in tests.items():
            if operator == "Null" and (key not in names) != (expected == "true"):
                return False
            if operator == "Bool" and names.get(key, "true") != expected:  # requests use TLS
                return False
    return True


CATALOG, POINTER = "catalog/catalogs/0123.json", "catalog/current.json"


class TestBucketPolicy:
    def test_a_catalog_is_written_once_and_never_deleted(self, resources: dict[str, Resource]) -> None:
        assert denied(resources, "s3:PutObject", CATALOG) == ["CatalogsAreWrittenOnce"]
        assert denied(resources, "s3:PutObject", CATALOG, s3_if_match="etag") == ["CatalogsAreWrittenOnce"]
        assert denied(resources, "s3:PutObject", CATALOG, s3_if_none_match="*") == []
        for action in ("s3:DeleteObject", "s3:DeleteObjectVersion"):
            assert denied(resources, action, CATALOG) == ["CatalogsAreNotDeleted"]

    def test_reading_and_the_pointer_are_not_denied(self, resources: dict[str, Resource]) -> None:
        assert denied(resources, "s3:GetObject", CATALOG) == []
        for action in ("s3:PutObject", "s3:GetObject", "s3:DeleteObject"):
            assert denied(resources, action, POINTER) == []
