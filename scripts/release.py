"""Build what a release publishes into ``dist/``: ``make release``.

- the wheel, with the page of the web explorer, and the sdist
- ``toolfold.mcpb``: a bundle that a client installs by a click; its host installs the wheel with uv
- ``server.json``: the entry of the registry of MCP servers
- ``llms.txt``: the pages of the documentation, for models
- ``aws/``: the template with the zips of the function and its layers, for a bucket, and the Terraform module over them

Publishing them is a person's act. Forms: github.com/modelcontextprotocol/mcpb (``MANIFEST.md``, 0.4),
github.com/modelcontextprotocol/registry (``server.json``, 2025-12-11), llmstxt.org.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import yaml

from toolfold.meta_tools.definitions import definitions
from toolfold.protocol.public_documents import DESCRIPTION, NAME
from toolfold.version import __version__

DIST, DOCS, SAM_BUILD, TERRAFORM = Path("dist"), Path("docs"), Path(".aws-sam/build"), Path("deploy/terraform/main.tf")
_KEY, _KEY_URL = "ALPHA_VANTAGE_API_KEY", "https://www.alphavantage.co/support/#api-key"
_STATIC = "toolfold/explorer/static/"
_SERVER = "from toolfold.cli import main\n\nraise SystemExit(main(['stdio']))\n"
_SECTIONS = {"tutorial": "Tutorials", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation"}


def project() -> dict[str, Any]:
    """Return ``[project]`` of ``pyproject.toml``."""
    found: dict[str, Any] = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def manifest() -> dict[str, Any]:
    """Return ``manifest.json`` of the bundle: the key is entered in the client, which keeps it."""
    about = project()
    return {
        "manifest_version": "0.4",
        "name": "toolfold",
        "display_name": "toolfold",
        "version": __version__,
        "description": about["description"],
        "author": {"name": "The toolfold authors"},
        "license": about["license"],
        "keywords": about["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {_KEY: "${user_config.api_key}"},
            },
        },
        "tools": [{key: tool[key] for key in ("name", "description")} for tool in definitions(None)],
        "user_config": {
            "api_key": {
                "type": "string",
                "title": "Alpha Vantage API key",
                "description": f"A free key: {_KEY_URL}",
                "required": True,
                "sensitive": True,
            }
        },
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": about["requires-python"]}},
    }


def registry_entry() -> dict[str, Any]:
    """Return ``server.json``."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": NAME,  # README.md has it too, by which the registry knows the package
        "title": "toolfold",
        "description": DESCRIPTION,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "toolfold",
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "stdio"}],
                "environmentVariables": [
                    {
                        "name": _KEY,
                        "description": f"API key of Alpha Vantage; a free one: {_KEY_URL}",
                        "isRequired": True,
                        "isSecret": True,
                    }
                ],
            }
        ],
    }


def llms_text() -> str:
    """Return ``llms.txt``: each page of the documentation by its heading, in the four sections."""
    lines = ["# toolfold", "", f"> {project()['description']}"]
    for folder, title in _SECTIONS.items():
        pages = sorted((DOCS / folder).rglob("*.md"))
        lines += ["", f"## {title}", "", *(f"- [{_heading(page)}]({page.as_posix()})" for page in pages)]
    return "\n".join(lines) + "\n"


def _heading(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip() if found else page.stem


def check_page(wheel: Path) -> None:
    """Check that a wheel has the page of the web explorer with every file that it names, and the MCP App.

    Raises:
        SystemExit: something is missing.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = {name.removeprefix(_STATIC) for name in archive.namelist() if name.startswith(_STATIC)}
        page = archive.read(f"{_STATIC}index.html").decode() if "index.html" in files else ""
    named = re.findall(r'(?:src|href)="ui/([^"]+)"', page)
    missing = {"index.html", "answer.html", *named} - files
    if missing or not any(name.endswith(".js") for name in named):
        sys.exit(f"{wheel.name} lacks files of the page: {', '.join(sorted(missing)) or 'a script'}")


def write_bundle(path: Path, wheel: Path) -> None:
    """Write the bundle: the manifest, and a project of one dependency, the wheel beside it.

    Args:
        path: The file to write.
        wheel: The wheel.
    """
    about = project()
    of_wheel = f'[tool.uv.sources]\ntoolfold = {{ path = "{wheel.name}" }}\n'
    bundled = (
        f'[project]\nname = "toolfold-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{about["requires-python"]}"\ndependencies = ["toolfold"]\n\n{of_wheel}'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest(), indent=2) + "\n")
        archive.writestr("pyproject.toml", bundled)
        archive.writestr("server.py", _SERVER)
        archive.write(wheel, wheel.name)


_CODE = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
_CODE_PARAMETERS = {
    "CodeBucket": {"Type": "String", "Description": "Bucket of this region with the zips of this template."},
    "CodePrefix": {"Type": "String", "Default": "", "Description": "What precedes the names of the zips in it."},
}


def write_aws_package(build: Path, folder: Path) -> None:
    """Write the template that ``sam build`` made to ``folder``, with a zip for each folder of code that it names.

    The name of a zip has the hash of its content, so that an update replaces exactly what is different.

    Args:
        build: The folder of the build.
        folder: An existing folder.
    """
    template = yaml.safe_load((build / "template.yaml").read_text(encoding="utf-8"))
    for name, resource in template["Resources"].items():
        if member := _CODE.get(resource["Type"]):
            properties = resource["Properties"]
            archive = _zip(build / properties[member])
            key = f"{name}-{hashlib.sha256(archive).hexdigest()[:12]}.zip"
            (folder / key).write_bytes(archive)
            properties[member] = {"Bucket": {"Ref": "CodeBucket"}, "Key": {"Fn::Sub": f"${{CodePrefix}}{key}"}}
    template["Parameters"] |= _CODE_PARAMETERS
    template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"].append(
        {"Label": {"default": "Where the packages are"}, "Parameters": list(_CODE_PARAMETERS)}
    )
    (folder / "template.yaml").write_text(yaml.safe_dump(template, sort_keys=False, width=120), encoding="utf-8")


def _zip(folder: Path) -> bytes:
    """Return the files of a folder as a zip: the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, path.stat().st_mode << 16
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()


def main() -> int:
    """Build everything, print each file and its size, and return 0."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--quiet", "--no-isolation"], check=True)
    (wheel,) = DIST.glob("*.whl")
    check_page(wheel)
    write_bundle(DIST / "toolfold.mcpb", wheel)
    (DIST / "server.json").write_text(json.dumps(registry_entry(), indent=2) + "\n", encoding="utf-8")
    (DIST / "llms.txt").write_text(llms_text(), encoding="utf-8")
    (DIST / "aws").mkdir()
    write_aws_package(SAM_BUILD, DIST / "aws")
    shutil.copy(TERRAFORM, DIST / "aws")
    for path in sorted(path for path in DIST.rglob("*") if path.is_file()):
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
