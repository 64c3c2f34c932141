"""The firewall of deploy/waf.yaml: what it forwards, and that requests need its secret."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.sam_template import load

TEMPLATE = load(Path(__file__).parents[2] / "deploy/waf.yaml")


@pytest.fixture(scope="module")
def distribution() -> dict[str, Any]:
    return dict(TEMPLATE["Resources"]["Distribution"]["Properties"]["DistributionConfig"])


def test_the_firewall_forwards_everything_and_stores_nothing(distribution: dict[str, Any]) -> None:
    behavior = distribution["DefaultCacheBehavior"]
    assert behavior["ViewerProtocolPolicy"] == "https-only"
    assert {"GET", "POST", "OPTIONS", "DELETE"} <= set(behavior["AllowedMethods"])
    # Managed by AWS: CachingDisabled, AllViewerExceptHostHeader.
    assert behavior["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    assert behavior["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"
    assert distribution["Origins"][0]["CustomOriginConfig"]["OriginSSLProtocols"] == ["TLSv1.2"]
    assert "RateBasedStatement" in TEMPLATE["Resources"]["WebAcl"]["Properties"]["Rules"][0]["Statement"]


def test_it_sends_the_secret_that_the_function_requires(distribution: dict[str, Any]) -> None:
    [origin] = distribution["Origins"]
    assert origin["OriginCustomHeaders"] == [{"HeaderName": "X-Origin-Secret", "HeaderValue": {"Ref": "OriginSecret"}}]
    assert TEMPLATE["Parameters"]["OriginSecret"]["NoEcho"] is True
    assert "OriginSecret" not in str(TEMPLATE["Outputs"])


@pytest.mark.parametrize(
    ("secret", "accepted"), [("0123456789abcdef0123456789abcdef", True), ("short", False), ("with space" * 4, False)]
)
def test_a_secret_that_can_be_guessed_is_refused(secret: str, accepted: bool) -> None:
    assert bool(re.fullmatch(TEMPLATE["Parameters"]["OriginSecret"]["AllowedPattern"], secret)) == accepted


def test_signed_requests_are_not_sent_to_another_host() -> None:
    [assertion] = TEMPLATE["Rules"]["SignaturesNeedNoFirewall"]["Assertions"]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Access"}, "iam"]}]}
    assert "ACCESS=oauth" in assertion["AssertDescription"]
