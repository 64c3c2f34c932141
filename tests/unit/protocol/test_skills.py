"""The skills extension of MCP and skills as resources, in both protocol eras."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_requests import message, request, stateless
from tests.unit.build.importers.test_skills import skill, written
from toolfold.app import build_app
from toolfold.build.compiler import compile_folder
from toolfold.protocol import resources
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings

FILES = {
    "billing/refunds/SKILL.md": skill("refunds"),
    "billing/refunds/templates/a b.md": "# Dear customer\r\n",
    "billing/refunds/templates/eu/ä.md": "Sehr geehrte Damen\n",
    "billing/refunds/logo.png": b"\x89PNG\0",
    "forms/SKILL.md": "\ufeff" + skill("forms"),
}
EXTENSION = "io.modelcontextprotocol/skills"
ROOT = "skill://team/billing/refunds"


def make_server(folder: Path, files: dict[str, str | bytes] | None = None, overlay: str = "") -> Server:
    sources = written(folder / "sources", FILES if files is None else files, binary_files=True)
    if overlay:
        (sources / "team/overlay.yaml").write_text(overlay)
    path = folder / "catalog.json"
    path.write_text(compile_folder(sources), encoding="utf-8")
    return build_app(Settings.from_environment({"TOOLFOLD_CATALOG": str(path), "TOOLFOLD_CACHE": "off"})).server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return make_server(tmp_path_factory.mktemp("skills"))


class Era:
    """One protocol era: how a request is sent, and what belongs to every result."""

    def __init__(self, *, is_stateless: bool) -> None:
        self.is_stateless = is_stateless

    def send(self, server: Server, method: str, **params: Any) -> dict[str, Any]:
        named = {"mcp_name": params["uri"]} if method == "resources/read" else {}
        sent = stateless(method, params, **named) if self.is_stateless else request(message(method, params))
        return dict(json.loads(server.handle_http(sent).body))

    def result(self, server: Server, method: str, **params: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.send(server, method, **params)["result"]
        if self.is_stateless:
            assert result.pop("resultType") == "complete"
            assert result.pop("_meta")
            assert (result.pop("ttlMs"), result.pop("cacheScope")) == (3_600_000, "public")
        return result

    def error(self, server: Server, method: str, **params: Any) -> tuple[int, str]:
        error = self.send(server, method, **params)["error"]
        return error["code"], error["message"]


@pytest.fixture(params=["handshake", "stateless"])
def era(request: pytest.FixtureRequest) -> Era:
    return Era(is_stateless=request.param == "stateless")


def test_the_extension_is_declared_where_there_are_skills(server: Server, era: Era) -> None:
    method = "server/discover" if era.is_stateless else "initialize"
    capabilities = era.send(server, method, protocolVersion="2025-11-25")["result"]["capabilities"]

    extensions = capabilities.pop("extensions")
    assert capabilities == {"tools": {}, "resources": {}}
    assert extensions.pop(EXTENSION) == {}
    assert extensions == ({"io.modelcontextprotocol/tasks": {}} if era.is_stateless else {})


def test_every_skill_is_listed_with_its_front_matter_and_digests(server: Server, era: Era) -> None:
    first, second = era.result(server, "skills/list")["skills"]

    assert (first["uri"], second["uri"]) == (f"{ROOT}/SKILL.md", "skill://team/forms/SKILL.md")
    assert first["frontmatter"] == {
        "name": "refunds",
        "description": "Fill in the forms of refunds. Use it for every form.",
    }
    assert first["resources"] == [
        {"uri": f"{ROOT}/{name}", "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
        for name, content in (
            ("SKILL.md", skill("refunds").encode()),
            ("logo.png", b"\x89PNG\0"),
            ("templates/a%20b.md", b"# Dear customer\r\n"),
            ("templates/eu/%C3%A4.md", b"Sehr geehrte Damen\n"),
        )
    ]


def test_one_skill_is_the_same_entry(server: Server, era: Era) -> None:
    listed = era.result(server, "skills/list")["skills"]

    for entry in listed:
        assert era.result(server, "skills/get", uri=entry["uri"]) == {"skill": entry}


def test_what_is_read_has_the_listed_digest_and_size(server: Server, era: Era) -> None:
    for entry in era.result(server, "skills/list")["skills"]:
        for listed in entry["resources"]:
            (content,) = era.result(server, "resources/read", uri=listed["uri"])["contents"]
            data = content["text"].encode() if "text" in content else base64.b64decode(content["blob"])
            assert content["uri"] == listed["uri"]
            assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (listed["digest"], listed["size"])


def test_files_are_resources(server: Server, era: Era) -> None:
    resources = {found["uri"]: found for found in era.result(server, "resources/list")["resources"]}

    assert len(resources) == len(FILES)
    assert resources[f"{ROOT}/SKILL.md"] == {
        "uri": f"{ROOT}/SKILL.md",
        "name": "refunds",
        "description": "Fill in the forms of refunds. Use it for every form.",
        "mimeType": "text/markdown",
        "size": len(skill("refunds")),
    }
    assert resources[f"{ROOT}/logo.png"]["mimeType"] == "image/png"
    assert resources[f"{ROOT}/templates/a%20b.md"]["name"] == "a b.md"
    assert era.result(server, "resources/templates/list") == {"resourceTemplates": []}


@pytest.mark.parametrize(
    ("method", "uri", "words"),
    [
        ("skills/get", "skill://team/none/SKILL.md", "No skill is served at skill://team/none/SKILL.md"),
        ("skills/get", f"{ROOT}/logo.png", "No skill is served at"),
        ("skills/get", ROOT, "No skill is served at"),
        ("skills/get", "", "uri must be the URI of a resource"),
        ("skills/get", 7, "uri must be the URI of a resource"),
    ],
)
def test_an_unknown_uri_is_invalid(server: Server, era: Era, method: str, uri: Any, words: str) -> None:
    code, text = era.error(server, method, uri=uri)

    assert code == -32602
    assert words in text


@pytest.mark.parametrize(
    "uri",
    [
        f"{ROOT}/none.md",
        f"{ROOT}/../../../etc/passwd",
        f"{ROOT}/templates",
        ROOT,
        f"{ROOT}/templates/../SKILL.md",
        f"{ROOT}/templates/a b.md",
        f"{ROOT}/templates/%61%20b.md",
        f"{ROOT}//SKILL.md",
        "file:///etc/passwd",
        "skill://" + "a/" * 500,
    ],
)
def test_an_unknown_resource_is_refused_as_the_version_says(server: Server, era: Era, uri: str) -> None:
    code, _ = era.error(server, "resources/read", uri=uri)

    assert code == (-32602 if era.is_stateless else -32002)


def test_lists_have_pages(server: Server, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = era.result(server, "skills/list")["skills"]
    monkeypatch.setattr(resources, "PAGE_FILES", 1)
    first = era.result(server, "skills/list")
    second = era.result(server, "skills/list", cursor=first["nextCursor"])

    assert [first["skills"], second["skills"]] == [whole[:1], whole[1:]]
    assert "nextCursor" not in second
    assert len(era.result(server, "resources/list")["resources"]) == 4


@pytest.mark.parametrize("cursor", ["x", "", 7, "c2tpbGw", "////", "ü"])
def test_a_wrong_cursor_is_refused(server: Server, era: Era, cursor: Any) -> None:
    assert era.error(server, "skills/list", cursor=cursor)[0] == -32602


def test_a_skill_that_needs_approval_is_not_read_as_a_resource(tmp_path: Path, era: Era) -> None:
    overlay = "tools: {forms: {confirm: The forms of the whole team}}\n"
    server = make_server(tmp_path, overlay=overlay)

    code, text = era.error(server, "resources/read", uri="skill://team/forms/SKILL.md")
    assert (code, text.partition(":")[0]) == (-32603, "APPROVAL_REQUIRED")
    assert "contents" in era.result(server, "resources/read", uri=f"{ROOT}/SKILL.md")


def test_a_token_without_the_scope_reads_no_skill(server: Server) -> None:
    sent = request(message("resources/read", {"uri": f"{ROOT}/SKILL.md"}))
    for scopes in ({"tools:read"}, {"tools:call"}, set[str]()):
        with pytest.raises(Exception, match="lacks the scope"):
            server._handle_body(sent._replace(scopes=frozenset(scopes), caller="c"), stateless=False)
    allowed = sent._replace(scopes=frozenset({"tools:read", "tools:call"}), caller="c")
    assert b"contents" in server._handle_body(allowed, stateless=False).body


def test_a_resource_is_read_over_stdio(server: Server) -> None:
    from toolfold.protocol.jsonrpc import parse_message

    sent = parse_message(json.dumps(message("resources/read", {"uri": f"{ROOT}/SKILL.md"})).encode())
    assert sent is not None
    assert json.loads(server.handle_message(sent))["result"]["contents"][0]["text"] == skill("refunds")
