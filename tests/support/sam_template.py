"""Translate the SAM template into the CloudFormation template that AWS makes of it.

The lint of a SAM template does not check SAM's own resources: it accepts a runtime that does not exist. In the
translated template the same mistake is found. As a program it writes the translation as JSON, for ``cfn-lint`` (``make
validate``)::

    python -m tests.support.sam_template template.yaml > translated.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

REGION = "eu-central-1"
"""Any region will do: nothing in the template depends on it, and nothing is sent anywhere."""

_PACKAGED = "s3://packages/code.zip"
_CODE_OF: dict[str, str] = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
}
"""SAM type → the property that `sam package` rewrites from a local folder to an object in S3."""


def load(path: Path) -> dict[str, Any]:
    """Return the template as written, with ``!Ref`` and the like in their long form (``{"Ref": …}``)."""
    return dict(yaml_parse(path.read_text(encoding="utf-8")))


def translate(template: dict[str, Any]) -> dict[str, Any]:
    """Return the CloudFormation template for a SAM template, with every parameter at its default.

    ``template`` is changed: local code becomes a packaged object, as `sam package` would do.

    Raises:
        samtranslator.model.exceptions.InvalidDocumentException: SAM refuses the template.
    """
    for resource in template["Resources"].values():
        if resource["Type"] in _CODE_OF:
            resource["Properties"][_CODE_OF[resource["Type"]]] = _PACKAGED
    session = boto3.Session(region_name=REGION)
    translator = Translator(managed_policy_map={}, sam_parser=Parser(), boto_session=session)
    return dict(translator.translate(sam_template=template, parameter_values={}, get_managed_policy_map=_no_policies))


def _no_policies() -> dict[str, str]:
    """Return no policies: the template uses none of SAM's short names, so no account has to be queried."""
    return {}


if __name__ == "__main__":
    json.dump(translate(load(Path(sys.argv[1]))), sys.stdout, indent=2)
