"""What a catalog may say about an MCP server, which programs it may start, and when the server counts as changed."""

from typing import Any

import pytest

from tests.support.tables import accepted, differences
from toolfold.build.importers.mcp import McpSettings, effect_of
from toolfold.build.preparation import check_allowed
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.errors import CatalogRejected, CatalogUnavailable, SettingsError, UpstreamError
from toolfold.network.ssrf import is_secure_url
from toolfold.settings import Settings
from toolfold.sources.mcp.child_process import child_environment
from toolfold.sources.mcp.connection import Connection, read_connection
from toolfold.sources.mcp.fingerprint import tool_fingerprint

COMMAND = ["uvx", "mcp-server-time", "--local-timezone=UTC"]


def source(base_url: str = "", **connection: Any) -> Source:
    return Source("time", "Time", "mcp", base_url, "", None, {}, "", (), (), connection=connection)


def allow_list(entries: str) -> AllowList:
    return AllowList(Settings.from_environment({"TOOLFOLD_ALLOWED_COMMANDS": entries}))


def test_a_damaged_or_hostile_connection_is_refused() -> None:
    rows = [
        {},
        {"command": "uvx"},
        {"command": ["uvx", 1]},
        {"command": [" "]},
        {"command": ["uvx\0"]},
        {"command": ["uvx"] * 300},
        {"command": COMMAND, "env": {"LD_PRELOAD": "/tmp/x.so"}},
        {"command": COMMAND, "env": {"pythonpath": "/tmp"}},
        {"command": COMMAND, "env": {"A=B": "1"}},
        {"command": COMMAND, "key_variable": "PATH"},
        {"command": COMMAND, "cwd": 1},
        {"command": COMMAND, "max_response_bytes": 0},
        {"command": COMMAND, "base_url": "https://a.test"},
    ]

    def read(given: dict[str, Any]) -> Connection:
        return read_connection(source(**given))

    assert accepted(read, rows, CatalogUnavailable) == []


def test_a_server_of_2024_is_refused_with_what_to_put_before_it() -> None:
    settings = {"id": "quay", "kind": "mcp", "title": "Quay", "transport": "sse", "url": "https://a.test/sse"}
    with pytest.raises(ValueError, match="is not supported: put mcp-remote before the server"):
        McpSettings.model_validate(settings)


def test_a_connection_is_a_url_or_a_program() -> None:
    assert read_connection(source("https://a.test/mcp")).endpoint == "https://a.test/mcp"
    assert read_connection(source(command=COMMAND)).endpoint == "stdio:uvx mcp-server-time --local-timezone=UTC"


def test_an_entry_is_the_first_words_of_a_command() -> None:
    rows = [
        ("", False),
        ("uvx", True),
        ("uvx mcp-server-time", True),
        ("uvx mcp-server-git", False),
        ("uvx mcp-server-time --local-timezone=UTC --verbose", False),
        ("time=uvx mcp-server-time", True),
        ("git=uvx", False),
        ("git=uvx, time='uvx'", True),
        ("/usr/bin/uvx", False),
        ("uv", False),
    ]

    def is_allowed(entries: str) -> bool:
        return allow_list(entries).first_refusal([source(command=COMMAND)]) is None

    assert differences(is_allowed, rows) == {}


def test_a_refusal_names_the_first_words_that_allow_the_command() -> None:
    command = ["uvx", "hub", "--only=a,b", "-v"]
    refusal = allow_list("").first_refusal([source(command=command)])
    assert refusal.entry == "time=uvx hub"
    assert allow_list(refusal.entry).first_refusal([source(command=command)]) is None


def test_a_refused_program_does_not_refuse_the_catalog() -> None:
    refusing = allow_list("")
    refusing.check_all([source(command=COMMAND)])
    with pytest.raises(UpstreamError, match="may not be started here"):
        refusing.check(source(command=COMMAND))


@pytest.mark.parametrize("entries", ["'", "time=", "uvx 'a"])
def test_a_setting_that_is_no_command_is_an_error(entries: str) -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_ALLOWED_COMMANDS"):
        allow_list(entries)


def test_a_catalog_with_a_program_is_not_published() -> None:
    class Catalog:
        sources = (source(command=COMMAND),)

    with pytest.raises(CatalogRejected, match="Source time is a program"):
        check_allowed(Catalog(), allow_list("uvx"))  # type: ignore[arg-type]


def test_what_is_not_known_to_be_harmless_is_destructive() -> None:
    rows = [
        ({"readOnlyHint": True}, True, "read"),
        ({"readOnlyHint": True}, False, "destructive"),
        ({"destructiveHint": False}, True, "write"),
        ({"readOnlyHint": False}, True, "destructive"),
        ({"readOnlyHint": "yes"}, True, "destructive"),
        (None, True, "destructive"),
    ]

    def effect(annotations: Any, trusted: bool) -> str:
        return effect_of({"name": "x", "annotations": annotations}, trusted=trusted)

    assert differences(effect, rows) == {}


def test_a_program_gets_no_variable_that_may_hold_a_secret() -> None:
    own = {
        "PATH": "/bin",
        "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "s",
        "SHELL": "() { evil; }",
        "TOOLFOLD_SOURCE_X_KEY": "s",
    }
    network = {"HTTPS_PROXY": "http://proxy:3128", "SSL_CERT_FILE": "/ca.pem", "UV_INDEX_URL": "https://mirror/simple"}
    expected = {"PATH": "/bin", "HOME": "/root", "PLACE": "quay", **network}
    assert child_environment({"PLACE": "quay"}, {**own, **network}) == expected


def test_only_https_and_this_machine_are_reached() -> None:
    rows = [
        ("https://a.test/mcp", True),
        ("http://127.0.0.1:9/mcp", True),
        ("http://a.test/mcp", False),
        ("file:///etc/passwd", False),
        ("https://[", False),
    ]
    assert differences(is_secure_url, rows) == {}


TOOL: dict[str, Any] = {
    "name": "now",
    "description": "Tell the time.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "zone": {"type": "string", "description": "As 'Europe/Oslo'; here it is UTC."},
            "description": {"type": ["string", "null"], "title": "Words", "enum": ["short", "long", None]},
        },
        "required": ["zone", "description"],
    },
    "outputSchema": {"type": "object", "properties": {"time": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "title": "Time"},
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**TOOL, **fields}


def schema(**fields: Any) -> dict[str, Any]:
    return {**TOOL["inputSchema"], **fields}


def test_words_and_order_do_not_count() -> None:
    rows = [
        changed(description="Tell the time, politely."),
        changed(annotations={"readOnlyHint": True, "title": "Clock", "openWorldHint": False}),
        changed(inputSchema=schema(title="Now", description="For the time", **{"$comment": "x", "examples": [{}]})),
        changed(
            inputSchema=schema(
                properties={
                    "description": {
                        "title": "Other words",
                        "type": ["null", "string"],
                        "enum": [None, "long", "short"],
                    },
                    "zone": {"type": "string", "description": "As 'Europe/Oslo'; here it is America/Lima."},
                },
                required=["description", "zone"],
            )
        ),
    ]
    assert [tool for tool in rows if tool_fingerprint(tool) != tool_fingerprint(TOOL)] == []


def test_schemas_and_hints_about_effects_count() -> None:
    rows = [
        changed(inputSchema=schema(required=[])),
        changed(inputSchema=schema(properties={"zone": {"type": "string"}})),  # a parameter that is called description
        changed(inputSchema=schema(properties={**TOOL["inputSchema"]["properties"], "zone": {"type": "integer"}})),
        changed(inputSchema=schema(additionalProperties=False)),
        changed(outputSchema={"type": "object"}),
        changed(outputSchema=None),
        changed(annotations={"readOnlyHint": False}),
        changed(annotations=None),
    ]
    assert [tool for tool in rows if tool_fingerprint(tool) == tool_fingerprint(TOOL)] == []


def test_values_that_look_like_keywords_count() -> None:
    one = changed(inputSchema={"type": "object", "properties": {"a": {"const": {"title": "x"}}}})
    other = changed(inputSchema={"type": "object", "properties": {"a": {"const": {"title": "y"}}}})
    assert tool_fingerprint(one) != tool_fingerprint(other)


def test_a_schema_of_any_depth_has_a_fingerprint() -> None:
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        nested = {"type": "object", "properties": {"inner": nested}}
    assert len(tool_fingerprint(changed(inputSchema=nested))) == 16
