"""Settings, errors, links, commands and figures in the documentation are those of the code."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import KEY
from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.commands import CommandLine
from tests.support.sam_template import load
from toolfold.cli.application import TOOLFOLD
from toolfold.cli.settings import setting_meanings
from toolfold.errors import CALL_ERRORS
from toolfold.mock_api.server import MockApi
from toolfold.settings import VARIABLES

DOCUMENTS = [
    Path("README.md"),
    Path("CONTRIBUTING.md"),
    *sorted(Path("docs").rglob("*.md")),
    Path("events/README.md"),
    Path("web/API.md"),
]


def test_settings_page_lists_every_variable() -> None:
    page = Path("docs/reference/settings.md").read_text()
    for name, meaning in setting_meanings().items():
        default = VARIABLES[name].default if name in VARIABLES else ""
        assert f"| `{name}{f'={default}' if default else ''}` | {meaning} |" in page


def test_errors_page_lists_every_code() -> None:
    page = Path("docs/reference/errors.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)) == set(CALL_ERRORS)


def test_commands_page_lists_every_extra() -> None:
    extras = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    section = Path("docs/reference/commands.md").read_text().partition("### Extras")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(extras)


def test_home_page_leads_to_every_page() -> None:
    folder = Path("docs")
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", (folder / "index.md").read_text()))
    pages = {page.relative_to(folder).as_posix() for page in folder.rglob("*.md")}
    assert {page for page in pages - linked if "decisions/" not in page} == {"index.md"}


def test_navigation_of_the_site_has_every_page() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", Path("mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to("docs").as_posix() for page in Path("docs").rglob("*.md"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of ``page``, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_lead_to_files_and_headings() -> None:
    for document in DOCUMENTS:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", document.read_text()):
            if "://" not in target:
                page = document.parent / target if target else document
                assert page.exists(), (document, target)
                assert not anchor or page.suffix != ".md" or anchor in anchors(page), (document, target, anchor)


def test_commands_shown_exist() -> None:
    makefiles = "".join(path.read_text() for path in [Path("Makefile"), *Path("make").glob("*.mk")])
    targets = set(re.findall(r"^([a-z0-9-]+):", makefiles, re.MULTILINE))
    for document in DOCUMENTS:
        shown = re.findall(r"^\$ make ([a-z0-9-]+)|`make ([a-z0-9-]+)[^`]*`", document.read_text(), re.MULTILINE)
        assert {name for pair in shown for name in pair if name} <= targets, document


def test_figures_of_the_readme_are_the_measured_ones() -> None:
    measured = Path("docs/reference/measurements.md").read_text()
    row = re.search(r"what every conversation carries \| ([\d,]+) \| ([\d,]+) \|", Path("README.md").read_text())
    assert row is not None
    assert f"({BUNDLED_TOOLS} tools) | {row[1]} | {row[2]} |" in measured
    journey = re.search(r"all steps together \| ([\d,]+) \| ([\d,]+) \|", Path("README.md").read_text())
    assert journey is not None
    assert f"of the steps | {journey[1]} | {journey[2]} |" in measured


def test_the_endpoint_is_a_whole_url_everywhere() -> None:  # N5
    assert "/mcp\n" in Path("template.yaml").read_text().partition("  Endpoint:")[2].partition("CatalogBucketName")[0]
    for document in DOCUMENTS:
        assert "ENDPOINT/mcp" not in document.read_text(), document


def test_commands_of_the_tutorial_work(  # N15
    mock_api: MockApi, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    text = Path("docs/tutorial/first-answer.md").read_text()
    commands = re.findall(r"^\$ toolfold (.*)$", text, re.MULTILINE)
    started = {"mock-api --port 8787", "demo", "install claude-desktop"}  # tested elsewhere
    codes = {command: command_line.run(*shlex.split(command))[0] for command in commands if command not in started}
    assert len(codes) > 7
    assert {command: code for command, code in codes.items() if code} == {"call WTI interval=hourly": 1, "cal WTI": 2}
    TOOLFOLD.commands["mock-api"].make_context("mock-api", ["--port", "8787"])


@pytest.mark.slow
def test_the_agent_of_the_tutorial_prints_what_the_page_shows(mock_api: MockApi, tmp_path: Path) -> None:
    text = Path("docs/tutorial/first-answer.md").read_text()
    program = tmp_path / "agent.py"
    [source] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program.write_text(source.replace("http://127.0.0.1:8787/query", mock_api.url))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=True)
    assert f"$ python agent.py\n{done.stdout}```" in text


def test_outputs_that_pages_name_are_those_of_the_templates() -> None:
    root = Path(__file__).parents[3]
    named = {
        name
        for page in [*(root / "docs").rglob("*.md"), root / "README.md"]
        for group in re.findall(r"outputs? ((?:`\w+`(?: and |, )?)+)", page.read_text(encoding="utf-8"))
        for name in re.findall(r"\w+", group.replace(" and ", " "))
    }
    templates = [load(path) for path in (root / "template.yaml", *(root / "deploy").glob("*.yaml"))]
    assert "TableName" in named
    assert named <= {name for template in templates for name in template.get("Outputs", {})}
