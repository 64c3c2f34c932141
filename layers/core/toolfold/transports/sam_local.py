"""`sam local`: what the function uses where no stack has made its resources.

SAM writes the logical ID of a resource where the template refers to it, as in ``s3://CatalogBucket/catalog``.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping

_OF_TEMPLATE = r"(s3|dynamodb)://(CatalogBucket|OffloadBucket|CacheTable)(/.*)?|ApprovalSecret"

_STAND_INS = {
    "TOOLFOLD_CATALOG": "",
    "TOOLFOLD_CACHE": "memory",
    "TOOLFOLD_CACHE_BUCKET": "",
    "TOOLFOLD_OFFLOAD": "/tmp/toolfold",  # noqa: S108 - a container has one user
    "TOOLFOLD_APPROVAL_SECRET": "",
}
"""The packaged catalog, a cache in memory, and long answers in a folder."""


def use_stand_ins(variables: MutableMapping[str, str]) -> dict[str, str]:
    """Replace variables that name resources of the template, under `sam local`; return those that were replaced.

    Requests are not signed there, so that every caller is accepted, and may use a key of the environment. A variable
    with another value, as of ``--env-vars``, is not changed.
    """
    if variables.get("AWS_SAM_LOCAL") != "true":
        return {}
    replaced = {
        name: value for name, value in _STAND_INS.items() if re.fullmatch(_OF_TEMPLATE, variables.get(name, ""))
    }
    replaced |= {"TOOLFOLD_ACCESS": "", "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
    variables.update(replaced)
    variables.pop("TOOLFOLD_OAUTH_ISSUER", None)
    return replaced
