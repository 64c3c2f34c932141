"""``toolfold catalog versions | diff | rollback`` and the options of ``publish``, with moto for S3."""

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from tests.support.aws_services import serving, use_aws_endpoint
from tests.support.catalogs import ALLOWED_HOST, publish, sha256_of, small_catalog, write_sources
from tests.support.commands import CommandLine, Run
from toolfold.build.catalog_bucket import open_client

A, B = small_catalog("A"), small_catalog("B")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    """Exit code, stdout and stderr of a command of ``toolfold catalog``."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("TOOLFOLD_ALLOWED_HOSTS", ALLOWED_HOST)
    use_aws_endpoint(endpoint, monkeypatch)
    # A client takes a hundred milliseconds to make, and a command makes two.
    monkeypatch.setattr("toolfold.build.catalog_bucket.open_client", open_once)
    monkeypatch.setattr("tests.support.catalogs.open_client", open_once)

    def ran(*argv: str) -> tuple[int, str, str]:
        printed = command_line.run("catalog", *argv)
        assert "Traceback" not in printed[2]
        return printed

    return ran


open_once = functools.cache(open_client)


@pytest.fixture
def place(run: Run, request: pytest.FixtureRequest) -> str:
    """A location of its own with two versions; A is the earlier one."""
    open_once("s3").create_bucket(Bucket="versions")
    location = f"s3://versions/{abs(hash(request.node.name))}"
    for content in (A, B):
        publish(content, location)
    return location


def test_versions_are_listed_newest_first(run: Run, place: str) -> None:
    code, out, _ = run("versions", place)
    heading, first, second = out.splitlines()

    assert code == 0
    assert heading.split() == ["version", "published_at", "tools", "note", "writer", "published_by"]
    assert first.split()[0] == sha256_of(B)[:12]
    assert ("current" in first, "current" in second) == (True, False)
    assert "terminal" in first
    listed = json.loads(run("versions", place, "--json")[1])
    assert [version["sha256"] for version in listed["versions"]] == [sha256_of(B), sha256_of(A)]
    assert listed["versions"][0]["current"] is True


def test_diff_names_what_differs(run: Run, place: str, tmp_path: Path) -> None:
    code, out, _ = run("diff", place)
    assert code == 0
    assert out.splitlines() == [f"{sha256_of(A)[:12]} → {sha256_of(B)[:12]}", "~ source tides.title"]
    assert run("diff", place, "current", "current")[1].endswith("are equal.\n")
    (tmp_path / "mine.json").write_bytes(A)
    diff = json.loads(run("diff", place, "current", str(tmp_path / "mine.json"), "--json")[1])
    assert (diff["before"], diff["after"], diff["added"]) == (sha256_of(B), sha256_of(A), [])
    assert "none.json cannot be read" in run("diff", place, "current", "none.json")[2]


def test_rollback_goes_back_and_says_instead_of_what(run: Run, place: str) -> None:
    before = run("versions", place)
    code, out, _ = run("rollback", place, "--dry-run")
    assert (code, run("versions", place)) == (0, before)
    assert "~ source tides.title" in out
    code, out, _ = run("rollback", place)
    assert code == 0
    assert out == f"{place} has catalog {sha256_of(A)} (1 tool) again, instead of {sha256_of(B)[:12]}.\n"
    assert "withdrawn" in run("versions", place)[1]
    assert "already" in run("rollback", place, "current")[1]
    answer = json.loads(run("rollback", place, sha256_of(B)[:6], "--json")[1])
    assert (answer["outcome"], answer["sha256"], answer["withdrawn"]) == ("published", sha256_of(B), False)


def test_who_published_is_recorded(run: Run, place: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(A)
    done = json.loads(run("publish", place, "--file", str(tmp_path / "mine.json"), "--json")[1])
    assert done["published_by"] == "arn:aws:sts::123456789012:user/moto"
    assert (done["outcome"], done["writer"], done["tools"]) == ("published", "terminal", 1)


def test_a_folder_is_linted_compiled_and_published(run: Run, place: str, tmp_path: Path) -> None:
    folder = write_sources(tmp_path, "C")
    code, out, err = run("publish", place, "--folder", str(folder), "--dry-run")
    assert (code, out.splitlines()[1]) == (0, "~ source tides.title")
    assert run("publish", place, "--folder", str(folder))[0] == 0
    assert sha256_of(small_catalog("C"))[:12] in run("versions", place)[1]
    path = folder / "tides/harbours.yaml"
    path.write_text(path.read_text().replace("  # lint: allow too-short", "  # "))
    code, _, err = run("publish", place, "--folder", str(folder))
    assert code == 1
    assert "The sources have findings: tides/harbours.yaml" in err


def test_the_first_catalog_of_a_bucket(run: Run, place: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(A)
    code, out, _ = run("publish", f"{place}/new", "--file", str(tmp_path / "mine.json"), "--dry-run")
    assert (code, out) == (
        0,
        f"{place}/new has no catalog yet; {sha256_of(A)[:12]} with 1 tool would be the first.\n",
    )


@pytest.mark.parametrize("command", ["versions", "diff", "rollback"])
def test_what_is_missing_is_one_sentence_with_the_next_step(run: Run, place: str, command: str) -> None:
    code, out, err = run(command, f"{place}/empty")
    assert (code, out) == (1, "")
    assert err == (f"{place}/empty has no catalog yet. Publish one with: toolfold catalog publish {place}/empty\n")
    code, out, err = run(command, "s3://no-such-bucket/catalog")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "there is no bucket of that name (NoSuchBucket). The stack prints it as CatalogBucketName." in err
    assert "Its bucket is the output CatalogBucketName of the stack; `make publish` reads it." in run(command)[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rollback", "PLACE", "beef"), "has no version 'beef'. List the versions with: toolfold catalog versions"),
        (("diff", "PLACE", "0" * 64), "does not exist. List the versions with: toolfold catalog versions"),
        (("versions", "PLACE", "--bucket-owner", "anna"), "'anna' is not the number of an account"),
    ],
)
def test_an_unknown_version_or_owner_is_named(run: Run, place: str, arguments: tuple[str, ...], sentence: str) -> None:
    code, _, err = run(*(place if word == "PLACE" else word for word in arguments))
    assert code > 0
    assert sentence in err


def test_one_version_only_cannot_be_compared_or_rolled_back(run: Run, place: str) -> None:
    publish(A, f"{place}/one")
    for command in ("diff", "rollback"):
        code, _, err = run(command, f"{place}/one")
        assert code == 1
        assert f"{place}/one has one version only, {sha256_of(A)[:12]}." in err


def test_where_sts_is_not_reached_the_owner_is_not_checked(
    run: Run, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = open_once("s3")

    def open_without_sts(service: str) -> Any:
        if service == "sts":
            raise EndpointConnectionError(endpoint_url="https://sts.example")
        return s3

    monkeypatch.setattr("toolfold.build.catalog_bucket.open_client", open_without_sts)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", os.environ["AWS_ENDPOINT_URL"])
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "https://sts.example")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    code, out, err = run("versions", place)
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == "STS was not reached (EndpointConnectionError): the owner of the bucket is not checked.\n"


def test_no_region_is_needed(run: Run, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setattr("toolfold.build.catalog_bucket.open_client", open_client)
    assert run("versions", place)[0] == 0


def test_without_sts_the_owner_is_not_checked(run: Run, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert run("versions", place)[0] == 0
