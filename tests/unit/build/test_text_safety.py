"""Keys that were typed into ``source.yaml`` are named, and never shown."""

from pathlib import Path
from typing import Any

import pytest

from toolfold.build import lint
from toolfold.build.text_safety import find_typed_secrets

_ISSUED = "ghp" + "_0123456789abcdef"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--api-key", "abc123"], "--api-key"),
        (["--token=abc123"], "--token"),
        (["API_KEY=abc123"], "API_KEY"),
        (["-e", f"GITHUB_TOKEN={_ISSUED}"], "GITHUB_TOKEN"),
        (["--header", "Authorization: Bearer abc123"], "Authorization"),
        (["-c", "TOKEN=abc123 exec some-server"], "TOKEN"),
        (["postgresql://reader:abc123@db.example.com/shop"], "the password in the URL"),
        (["--url=https://mcp.example.com/mcp?api_key=abc123"], "api_key"),
        (["serve", _ISSUED], "argument 2"),
    ],
)
def test_a_key_among_the_arguments_is_named(arguments: list[str], name: str) -> None:
    ((_, found, advice),) = find_typed_secrets({"id": "shop", "args": arguments})

    assert found == name
    assert "TOOLFOLD_SOURCE_SHOP_KEY" in advice
    assert "key_variable" in advice
    assert "abc123" not in found + advice
    assert _ISSUED not in found + advice


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-tokens", "100"],
        ["--token-file", "/run/token"],
        ["--token", "--verbose"],
        ["--sort-key", "name"],
        ["--password", ""],
        ["--api-key", "$API_KEY"],
        ["--header", "Authorization: Bearer ${TOKEN}"],
        ["-c", 'exec some-server --api-key "$API_KEY"'],
        ["postgresql://reader@db.example.com/shop"],
        ["-y", "@modelcontextprotocol/server-filesystem@1.0", "--local-timezone", "Europe/Berlin"],
        ["--auth", "oauth"],
    ],
)
def test_other_arguments_are_not(arguments: list[str]) -> None:
    assert find_typed_secrets({"id": "shop", "args": arguments}) == []


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ({"headers": {"Authorization": "Bearer abc123", "Accept": "text/csv"}}, "auth: {bearer: true}"),
        ({"headers": {"X-Api-Key": "abc123"}}, "auth: {header: X-Api-Key}"),
        ({"env": {"DB_PASSWORD": "abc123", "LOG": "info"}}, "key_variable: DB_PASSWORD"),
        ({"url": "https://mcp.example.com/mcp?api_key=abc123"}, "auth: {query_key: api_key}"),
    ],
)
def test_the_advice_is_the_form_with_a_variable(settings: dict[str, Any], form: str) -> None:
    ((_, _, advice),) = find_typed_secrets({"id": "shop", **settings})

    assert form in advice
    assert "abc123" not in advice


def test_lint_warns_with_the_line_unless_it_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    path = tmp_path / "shop" / "source.yaml"
    path.write_text("kind: mcp\nargs:\n- --token=abc123\n- --pin-token=5  # lint: allow typed-secret: of a test\n")

    (finding,) = lint.find_secrets(tmp_path)

    assert (finding.line, finding.rule, finding.is_warning) == (3, "typed-secret", True)
    assert "abc123" not in str(finding)
