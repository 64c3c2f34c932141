"""``toolfold source`` with real sources of all five kinds, which then are one catalog."""

import json
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.test_openapi_service import service as shelter  # noqa: F401 - a fixture
from tests.support.commands import CommandLine, Run
from tests.support.mcp_sources import PROGRAM
from tests.support.shelter_service import KEY
from tests.support.upstream import Upstream
from tests.unit.build.importers.test_skills import skill

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weather() -> Iterator[Upstream]:
    with Upstream((200, {"content-type": "application/json"}, b'{"rain_mm": 2.5, "town": "Oslo"}')) as running:
        yield running


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TOOLFOLD_CACHE", "off")
    return command_line.run


def apply_settings(out: str, monkeypatch: pytest.MonkeyPatch, key: str = "") -> None:
    """Set the variables that a command prints, as a person would who copies its lines."""
    for line in out.splitlines():
        if line.startswith("  export TOOLFOLD_") and "TOOLFOLD_CATALOG" not in line:
            name, _, value = line.removeprefix("  export ").partition("=")
            monkeypatch.setenv(name, key if value == "YOUR_KEY" else value.strip("'"))


def test_five_kinds_are_added_refreshed_tested_and_listed(
    run: Run,
    tmp_path: Path,
    shelter: str,  # noqa: F811
    weather: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with sqlite3.connect("shop.db") as database:
        database.executescript(
            "create table orders (id integer primary key, total real); insert into orders values (1, 9.5)"
        )
    database.close()
    (tmp_path / "mine/forms").mkdir(parents=True)
    (tmp_path / "mine/forms/SKILL.md").write_text(skill("forms"))
    commands = {
        "handbook": ["skills", "handbook", "mine"],
        "shop": ["sql", "shop", "sqlite:shop.db"],
        "pets": ["openapi", "pets", f"{shelter}/openapi.json", "--base-url", shelter, "--header", "X-Shelter-Key"],
        "echo": ["mcp", "echo", "--trust-annotations", "--", *PROGRAM],
        "weather": ["http", "weather", weather.url + "?town=Oslo"],
    }
    for words in commands.values():
        code, out, err = run("source", "add", *words)
        assert (code, err) == (0, ""), err
        apply_settings(out, monkeypatch, KEY)
    code, out, err = run("source", "refresh")
    assert code == 0, err
    assert {"pets", "shop", "echo"} <= {line.partition(":")[0] for line in out.splitlines() if line[0] != " "}
    assert run("source", "refresh", "--check")[0] == 0
    found = {entry["id"]: entry for entry in json.loads(run("source", "list", "--json")[1])}
    assert {id_: entry["state"] for id_, entry in found.items()} == dict.fromkeys(commands, "works")
    for id_ in commands:
        code, out, err = run("source", "test", id_)
        assert (code, err) == (0, f"{id_} works.\n"), out + err
    assert run("catalog", "compile")[0] == 0
    monkeypatch.setenv("TOOLFOLD_CATALOG", "catalog/catalog.json")
    listed = run("catalog", "list")[1]
    assert {line.partition("__")[0] for line in listed.splitlines()} == set(commands)
    assert json.loads(run("call", "weather__get_query", "town=Oslo", "--format", "json")[1])["rain_mm"] == 2.5


def test_a_source_that_is_down_is_one_sentence_and_the_others_are_refreshed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id_, words in (("dead", ["dies_at_start"]), ("echo", [])):
        code, out, err = run("source", "add", "mcp", id_, "--", *PROGRAM, *words)
        assert (code, err) == (0, "")
        apply_settings(out, monkeypatch)
    code, out, err = run("source", "add", "openapi", "gone", "http://127.0.0.1:9/openapi.json")
    apply_settings(out, monkeypatch)
    before = sorted(path.name for path in (tmp_path / "catalog/dead").iterdir())

    code, out, err = run("source", "refresh")
    assert code == 1
    assert out.startswith("echo: ")
    assert [line.partition(":")[0] for line in err.splitlines()] == ["dead", "gone"]
    assert "Traceback" not in err
    assert sorted(path.name for path in (tmp_path / "catalog/dead").iterdir()) == before


def test_a_source_that_refuses_the_example_is_said_to_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("source", "add", "mcp", "strict", "--trust-annotations", "--", *PROGRAM, "refuses")
    apply_settings(run(*words)[1], monkeypatch)
    assert run("source", "refresh")[0] == 0
    code, _, err = run("source", "test", "strict")
    assert code == 1
    assert "strict answers, but refuses these arguments, which are the example of the tool." in " ".join(err.split())
    monkeypatch.delenv("TOOLFOLD_ALLOWED_COMMANDS")
    allow = run("source", "test", "strict")[2].partition("export ")[2]
    assert shlex.split(allow) == [f"TOOLFOLD_ALLOWED_COMMANDS=strict={shlex.join([*PROGRAM, 'refuses'])}"]


@pytest.mark.parametrize(
    ("dialect", "form"), [("postgresql", "postgresql://role:password@host/database"), ("sqlite", "sqlite:///shop.db")]
)
def test_a_missing_connection_string_is_worded_for_a_person(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str, form: str
) -> None:
    (tmp_path / "catalog/shop").mkdir(parents=True)
    (tmp_path / "catalog/shop/source.yaml").write_text(f"kind: sql\ntitle: Shop\ndialect: {dialect}\n")
    monkeypatch.delenv("TOOLFOLD_SOURCE_SHOP_KEY", raising=False)
    code, _, err = run("source", "refresh", "shop")
    said = " ".join(err.split())
    assert code == 1
    assert said.startswith("shop: Shop needs its connection string, which is not set. Set TOOLFOLD_SOURCE_SHOP_KEY")
    assert f"export TOOLFOLD_SOURCE_SHOP_KEY={form}." in said
    assert "the user" not in said
    monkeypatch.setenv("TOOLFOLD_SOURCE_SHOP_KEY", '{"engine": "mysql", "host": "a", "username": "b", "password": "c"}')
    code, _, err = run("source", "refresh", "shop")
    assert (code, "Tell the operator" in err, '"password"' in err) == (1, False, False)
    problem = "The database of Shop does not exist" if dialect == "sqlite" else "set for Shop is not valid"
    assert problem in " ".join(err.split())
