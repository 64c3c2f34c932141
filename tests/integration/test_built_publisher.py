"""The publisher of deploy/publisher.yaml, as `sam build` made it, runs in AWS's runtime client with its layer alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.built_function import LAMBDA_PYTHON, NEEDS_LAMBDA_PYTHON, ROOT
from tests.support.catalogs import BUNDLED_TOOLS, publish, sha256_of, small_catalog
from tests.support.lambda_runtime import FunctionError, LambdaRuntime

BUILD = ROOT / ".aws-sam/publisher-e2e"
"""The build with the packages of this machine: make build-publisher-e2e."""

pytestmark = [
    pytest.mark.e2e,
    NEEDS_LAMBDA_PYTHON,
    pytest.mark.skipif(not (BUILD / "template.yaml").exists(), reason="needs a build: make build-publisher-e2e"),
]

CATALOG = (ROOT / "catalog/catalog.json").read_bytes()
SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}


@pytest.fixture
def location(s3: Any, request: pytest.FixtureRequest) -> str:
    """A prefix of its own in a bucket."""
    s3.create_bucket(Bucket="published")
    return f"s3://published/{request.node.name.replace('[', '-').strip(']')}"


@pytest.fixture(scope="module")
def start(endpoint: str) -> Callable[..., LambdaRuntime]:
    from tests.support import sam_template  # a second to import, as above

    properties = sam_template.load(BUILD / "template.yaml")["Resources"]["PublisherFunction"]["Properties"]
    names = {"TOOLFOLD_SOURCE_KEYS": "", "POWERTOOLS_SERVICE_NAME": "toolfold", "TOOLFOLD_CATALOG": ""}
    environment = {**properties["Environment"]["Variables"], **names}
    assert all(isinstance(value, str) for value in environment.values()), "a variable of the template has no value here"

    def make(location: str, layer: Path = BUILD / "PublisherLayer", **variables: str) -> LambdaRuntime:
        return LambdaRuntime(
            function=BUILD / properties["CodeUri"],
            layers=(layer,),
            python=LAMBDA_PYTHON,
            handler=properties["Handler"],
            environment={**environment, "TOOLFOLD_CATALOG": location, "AWS_ENDPOINT_URL": endpoint, **variables},
            timeout_s=float(properties["Timeout"]),
            memory_mb=int(properties["MemorySize"]),
        )

    return make


def pointer(s3: Any, location: str) -> dict[str, Any]:
    key = f"{location.removeprefix('s3://published/')}/current.json"
    return dict(json.loads(s3.get_object(Bucket="published", Key=key)["Body"].read()))


@pytest.mark.parametrize("settings", [{}, {"OAUTH_SCOPE_PREFIX": "toolfold/"}])
def test_settings_for_callers_are_none_of_the_publisher(
    start: Callable[..., LambdaRuntime], location: str, tmp_path: Path, settings: dict[str, str]
) -> None:
    """The issuer is a parameter of another stack: without it these settings are a mistake."""
    layer = tmp_path / "layer"
    shutil.copytree(BUILD / "PublisherLayer", layer)
    file = layer / "python/toolfold/settings/settings.json"
    packaged = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**packaged, **{f"TOOLFOLD_{name}": value for name, value in settings.items()}}))
    with start(location, layer) as runtime:
        assert runtime.invoke(SCHEDULED)["outcome"] == "published"


def test_it_publishes_confirms_and_leaves_what_a_person_published(
    start: Callable[..., LambdaRuntime], s3: Any, location: str
) -> None:
    with start(location) as runtime:
        done = runtime.invoke(SCHEDULED)
        # To the byte what the repository has: the gateway of the same build serves the same catalog.
        assert (done["outcome"], done["sha256"], done["tools"]) == ("published", sha256_of(CATALOG), BUNDLED_TOOLS)
        written = pointer(s3, location)
        assert (written["sha256"], written["writer"]) == (sha256_of(CATALOG), "schedule")
        assert runtime.invoke({})["outcome"] == "unchanged"
        publish(small_catalog(), location, s3)
        assert runtime.invoke(SCHEDULED)["outcome"] == "kept"
        assert pointer(s3, location)["sha256"] == sha256_of(small_catalog())
    lines = [json.loads(line) for line in runtime.log if line.startswith("{")]
    outcomes = ["published", "unchanged", "kept"]
    assert [line["outcome"] for line in lines if line.get("message") == "publish"] == outcomes
    assert [line["code"] for line in lines if "Publications" in line] == outcomes
    assert any("CatalogAge" in line for line in lines)


@pytest.mark.parametrize(
    ("place", "variables", "reason"),
    [
        ("s3://published/x", {"TOOLFOLD_LOG_LEVEL": "LOUD"}, "TOOLFOLD_LOG_LEVEL must be one of DEBUG, INFO"),
        ("s3://published/x", {"TOOLFOLD_NO_SUCH": "1"}, "TOOLFOLD_NO_SUCH"),
        ("nowhere", {}, "The location to publish to must be s3://bucket/prefix"),
    ],
)
def test_a_wrong_setting_fails_the_invocation_with_the_reason(
    start: Callable[..., LambdaRuntime], place: str, variables: dict[str, str], reason: str
) -> None:
    with start(place, **variables) as runtime, pytest.raises(FunctionError, match=reason):
        runtime.invoke(SCHEDULED)


def test_a_failed_run_fails_the_invocation_so_that_lambda_tries_again(start: Callable[..., LambdaRuntime]) -> None:
    with start("s3://no-such-bucket/catalog") as runtime:
        with pytest.raises(FunctionError, match="there is no bucket of that name") as caught:
            runtime.invoke(SCHEDULED)
        assert caught.value.error_type == "BucketUnavailable"
    assert any('"Publications"' in line and '"failed"' in line for line in runtime.log)
