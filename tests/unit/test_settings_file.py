"""The file of settings, and `sam local`: SAM names resources of the template that do not exist there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.commands import CommandLine
from toolfold.errors import SettingsError
from toolfold.settings import VARIABLES, file
from toolfold.settings.file import apply_settings, read_settings, use_stand_ins

CORE = Path("layers/core").resolve()

FILE = """\ufeffmax_tokens = 2000
batch = false
allowed_hosts = ["crm=crm.example.com", "maps=maps.example:8443"]
"log_level" = "warning"
anyone_may_use_the_key = true
oauth.audience = "tools"

[source.crm]
url = "https://crm.example.com"
key = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:crm"

[stage.dev]

[stage.prod]
max_tokens = 4000
[stage.prod.source.crm]
url = "https://prod.example.com"
"""

SETTINGS = {
    "TOOLFOLD_MAX_TOKENS": "2000",
    "TOOLFOLD_BATCH": "false",
    "TOOLFOLD_ALLOWED_HOSTS": "crm=crm.example.com,maps=maps.example:8443",
    "TOOLFOLD_LOG_LEVEL": "warning",
    "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
    "TOOLFOLD_OAUTH_AUDIENCE": "tools",
    "TOOLFOLD_SOURCE_CRM_URL": "https://crm.example.com",
    "TOOLFOLD_SOURCE_CRM_KEY": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:crm",
}

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Return what writes a file of settings. Variables that are set from it stay in this test."""

    def write_text(content: str | bytes, folder: Path = tmp_path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(folder / "settings.toml")

    with mock.patch.dict(os.environ):
        yield write_text


@pytest.mark.parametrize(
    ("stage", "others"),
    [
        ("", {}),
        ("default", {}),
        ("prod", {"TOOLFOLD_MAX_TOKENS": "4000", "TOOLFOLD_SOURCE_CRM_URL": "https://prod.example.com"}),
    ],
)
def test_tables_join_their_names_and_a_stage_overrides_the_others(
    write: Write, stage: str, others: dict[str, str]
) -> None:
    assert read_settings(write(FILE), stage) == {**SETTINGS, **others}


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("retries = 1\nmax_token = 5", 2, "max_token is not a setting. Did you mean max_tokens?"),
        ("[oauth]\nretries = 1\n[cache]\nbuckett = 1", 2, "oauth_retries is not a setting."),
        ("TOOLFOLD_RETRIES = 1", 1, "toolfold_retries is not a setting. Did you mean retries?"),
        ("extras = ['source']", 1, "extras must be sources or scripts, separated by commas, not 'source'."),
        ("xyzzy = 1", 1, "xyzzy is not a setting. `toolfold help settings` lists the settings."),
        (
            "cache = {\n}\n" if sys.version_info >= (3, 15) else "retries = 1\noauth = { issuerr = 'x' }",
            2,
            "oauth_issuer",
        ),
        ("# retries\nretries = 'often'", 2, "retries must be a whole number above 0, not 'often'."),
        ("timeout_s = inf", 1, "timeout_s must be a number above 0 and at most 86400, not 'inf'."),
        ("mode = 'lazy'\n[stage.prod]\nmode = 'fast'", 3, "mode must be one of"),
        ("[stage.prod.oauth]\n'issuer' = 'x'", 2, "oauth_issuer must be a URL"),
        ("retries = ", 1, "this is not TOML: "),
        ("allowed_hosts = [\n'a.example',\n", 2, "this is not TOML: "),
        ("[oauth]\nredirect_uris = [\n'http://a.test'\n]\n", 4, "oauth_redirect_uris must be URIs"),
        ("[stage.dev]\nretries = 1\n[stage.prod]\nretries = 'x'\n[cache]", 4, "retries must be a whole number"),
        ("\nsource.crm.key = 'CANARY'", 2, "source_crm_key has a key or a password"),
        ("approval_secret = 'CANARYCANARYCANARYCANARYCANARYCANARY'", 1, "approval_secret has a key or a password"),
        ('source_keys = \'{"crm": "CANARY"}\'', 1, "source_keys must be the ARN"),
        ("[source.db]\nurl = 'postgresql://me:CANARY@db/x'", 2, "Set it as the variable TOOLFOLD_SOURCE_DB_URL, or"),
        ("allowed_hosts = ['a.example,b.example']", 1, "allowed_hosts must be a text, a number, true or false, or an"),
        ('catalog = "a\\u0000b"', 1, "catalog must be a text, a number"),
        ("retries = 1\nstage = 'prod'", 2, "stage must be tables such as [stage.prod]."),
        ("retries = 1\n[stage]\nprod = 'x'", 3, "stage must be tables such as [stage.prod]."),
    ],
)
def test_a_mistake_is_named_with_its_line_and_without_a_key(
    write: Write, content: str, line: int, sentence: str
) -> None:
    path = write(content)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert sentence in str(caught.value)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory."),
        (b"call_log = '\xff'", "'utf-8' codec can't decode byte 0xff in position 12: invalid start byte."),
    ],
)
def test_a_file_that_cannot_be_read_is_named(write: Write, tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = str(tmp_path / "none.toml") if content is None else write(content)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert str(caught.value) == f"{path} cannot be read: {reason}"


def test_a_folder_and_a_file_of_others_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read: Is a directory\."):
        read_settings(tmp_path)

    def refuse(*_: object, **__: object) -> None:  # root may read every file
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SettingsError, match=r"cannot be read: Permission denied\."):
        read_settings("settings.toml")


@pytest.mark.parametrize(
    ("stage", "step"),
    [("prdo", "Did you mean prod?"), ("qa", r"There are dev, prod\. Add a table \[stage\.qa\]\.")],
)
def test_a_stage_that_is_not_in_the_file_is_an_error(write: Write, stage: str, step: str) -> None:
    with pytest.raises(SettingsError, match=f"has no stage {stage}. {step}"):
        read_settings(write(FILE), stage)


def test_a_file_may_have_every_setting(write: Write) -> None:
    path = write(
        "\n".join(
            f"{name[9:].lower()} = '{setting.default}'"
            for name, setting in VARIABLES.items()
            if name != "TOOLFOLD_STAGE"
        )
    )
    assert len(read_settings(path)) == len(VARIABLES) - 1


class TestPackagedSettings:
    def test_variables_of_the_process_override_them(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "environ", {"TOOLFOLD_RETRIES": "0", "TOOLFOLD_CACHE": ""})
        monkeypatch.setattr(file, "PACKAGED", tmp_path / "settings.json")
        assert apply_settings() == []  # as in a package from PyPI
        settings = {"TOOLFOLD_RETRIES": "5", "TOOLFOLD_CACHE": "off", "TOOLFOLD_MAX_TOKENS": "9"}
        (tmp_path / "settings.json").write_text(json.dumps(settings))
        assert apply_settings() == ["TOOLFOLD_MAX_TOKENS"]
        assert os.environ == {"TOOLFOLD_RETRIES": "0", "TOOLFOLD_CACHE": "", "TOOLFOLD_MAX_TOKENS": "9"}

    @pytest.mark.parametrize(
        ("content", "options", "expected"),
        [
            (FILE, ("--stage", "prod"), (0, {**SETTINGS, "TOOLFOLD_MAX_TOKENS": "4000"}, "")),
            ("extras = ['sources', 'scripts']", ("--extras",), (0, "sources scripts\n", "")),
            ("", ("--extras",), (0, "\n", "")),
            ("retires = 1", (), (1, "", "{path}:1: retires is not a setting. Did you mean retries?\n")),
        ],
    )
    def test_the_build_makes_them_without_packages(
        self, write: Write, content: str, options: tuple[str, ...], expected: tuple[int, str | dict[str, str], str]
    ) -> None:
        path = write(content.partition("[stage.prod.source.crm]")[0])
        done = subprocess.run(
            [sys.executable, "-S", "-m", "toolfold.settings.file", path, *options],
            env={"PYTHONPATH": str(CORE)},
            capture_output=True,
            text=True,
            check=False,
        )
        printed = json.loads(done.stdout) if isinstance(expected[1], dict) else done.stdout
        assert (done.returncode, printed, done.stderr) == (*expected[:2], expected[2].format(path=path))

    def test_the_file_of_this_repository_has_no_mistake(self) -> None:
        for stage in ("", "dev", "prod"):
            assert "TOOLFOLD_LOG_LEVEL" in read_settings("settings.toml", stage)


class TestFileOfTheUser:
    """In the user's configuration folder, or named with ``--settings``."""

    @pytest.fixture(autouse=True)
    def _catalog(self) -> None:
        os.environ.pop("TOOLFOLD_CATALOG", None)

    @pytest.mark.parametrize("named", [False, True])
    def test_every_command_reads_it(self, write: Write, command_line: CommandLine, named: bool) -> None:
        path = write(
            "catalog = '/of/the/file.json'", Path(os.environ["XDG_CONFIG_HOME"]) / ("x" if named else "toolfold")
        )
        for command in (["stdio"], ["call", "CPI"], ["serve"]):
            err = command_line(*command, *(["--settings", path] if named else []), code=1).err
            assert "TOOLFOLD_CATALOG=/of/the/file.json" in err, command

    def test_a_variable_overrides_it_and_its_stage_is_chosen_by_one(
        self, write: Write, command_line: CommandLine
    ) -> None:
        path = write("retries = 1\nmax_tokens = 1\n[stage.dev]\nmax_tokens = 2")
        os.environ |= {"TOOLFOLD_RETRIES": "0", "TOOLFOLD_STAGE": "dev"}
        out = command_line("settings", "--set", "--settings", path).out
        assert [line.split() for line in out.splitlines()] == [
            ["TOOLFOLD_STAGE", "dev", "[environment]"],
            ["TOOLFOLD_RETRIES", "0", "[environment]"],
            ["TOOLFOLD_MAX_TOKENS", "2", f"[{path}]"],
        ]

    def test_its_mistake_ends_a_command(self, write: Write, command_line: CommandLine) -> None:
        path = write("retires = 1", Path(os.environ["XDG_CONFIG_HOME"]) / "toolfold")
        for command in (["stdio"], ["call", "CPI"], ["serve"], ["catalog", "list"]):
            assert command_line(*command, code=1).err == f"{path}:1: retires is not a setting. Did you mean retries?\n"

    def test_doctor_and_settings_name_its_mistake_and_continue(self, write: Write, command_line: CommandLine) -> None:
        mistake = f"{(path := write('retires = 1'))}:1: retires is not a setting. Did you mean retries?"
        lines = command_line("doctor", "--offline", "--settings", path, code=1).out.splitlines()
        assert f"PROBLEM settings      {mistake}" in lines
        assert [line for line in lines if line.startswith("ok      catalog ")], lines
        printed = command_line("settings", "--settings", path, code=1)
        assert printed.err == f"{mistake}\n"
        assert "TOOLFOLD_RETRIES" in printed.out

    def test_one_in_the_working_directory_is_not_read(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
    ) -> None:
        write("retries = 7")
        monkeypatch.chdir(tmp_path)
        assert "Nothing is set" in command_line("settings", "--set").err


OF_TEMPLATE = {
    "TOOLFOLD_ACCESS": "iam",
    "TOOLFOLD_CATALOG": "s3://CatalogBucket/catalog",
    "TOOLFOLD_CACHE": "dynamodb://CacheTable",
    "TOOLFOLD_CACHE_BUCKET": "s3://OffloadBucket/cache",
    "TOOLFOLD_OFFLOAD": "s3://OffloadBucket/results",
    "TOOLFOLD_APPROVAL_SECRET": "ApprovalSecret",
    "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
}
OPENED = {"TOOLFOLD_ACCESS": "", "TOOLFOLD_OAUTH_ISSUER": "", "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
STAND_INS = {
    "TOOLFOLD_CATALOG": "",
    "TOOLFOLD_CACHE": "memory",
    "TOOLFOLD_CACHE_BUCKET": "",
    "TOOLFOLD_OFFLOAD": "/tmp/toolfold",
    "TOOLFOLD_APPROVAL_SECRET": "",
}


@pytest.mark.parametrize(
    ("variables", "replaced"),
    [
        (OF_TEMPLATE, {**STAND_INS, **OPENED}),
        ({}, OPENED),
        ({"TOOLFOLD_OFFLOAD": "s3://OffloadBucketOfMine/x"}, OPENED),
        ({"TOOLFOLD_CACHE": "dynamodb://CacheTable"}, {"TOOLFOLD_CACHE": "memory", **OPENED}),
    ],
)
def test_sam_local_replaces_what_the_template_names_and_nothing_else(
    variables: dict[str, str], replaced: dict[str, str]
) -> None:
    for name, value in (("AWS_SAM_LOCAL", "true"), ("AWS_SAM_LOCAL", "false"), ("OTHER", "true")):
        environment = {**variables, name: value}
        is_local = (name, value) == ("AWS_SAM_LOCAL", "true")
        expected = {**environment, **(replaced if is_local else {})}
        assert use_stand_ins(environment) == (replaced if is_local else {})
        assert environment == expected
