"""The file of settings: ``settings.toml``, on a laptop and, packaged as JSON by the build, on Lambda.

The setting ``TOOLFOLD_MAX_TOKENS`` is ``max_tokens``; tables join their names, so that ``audience`` in ``[oauth]`` is
``TOOLFOLD_OAUTH_AUDIENCE``. A list is an array. ``[stage.NAME]`` has what is different in one stage. Environment
variables override the file. The build runs this module with the standard library alone::

    python -m toolfold.settings.file settings.toml --stage prod > settings.json

`sam local` has no stack: it writes the logical ID of a resource where the template refers to it, as in
``s3://CatalogBucket/catalog``, for which :func:`use_stand_ins` has what the function uses instead.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import SettingsError
from toolfold.settings.model import PREFIX, SECRETS, VARIABLES, did_you_mean_variable, is_setting, source_of

if TYPE_CHECKING:
    from pathlib import Path  # takes 2 ms of a cold start

PACKAGED = os.path.join(os.path.dirname(__file__), "settings.json")
"""The settings of a build for Lambda."""

_MAX_BYTES = 1_000_000


def read_settings(path: str | Path, stage: str = "") -> dict[str, str]:
    """Return the settings of a file, variable → text, with those of the table of ``stage``, if it is not empty.

    Raises:
        SettingsError: the file cannot be read, or has a mistake in any stage; names file, line and the nearest name.
    """
    content, tables = _load(path)
    settings: dict[str, dict[str, str]] = {"": {}, stage: {}}
    for names, value in _values(tables):
        try:
            if names[0] == "stage" and len(names) < 3:
                raise SettingsError("stage must be tables such as [stage.prod].")
            of_stage, key = (names[1], names[2:]) if names[0] == "stage" else ("", names)
            variable, text = _setting("_".join(key).lower(), value)
        except SettingsError as error:
            raise SettingsError(f"{path}:{_line(content, names)}: {error}") from None
        settings.setdefault(of_stage, {})[variable] = text
    stages = tables.get("stage", {})
    if stage not in ("", "default", *stages):
        from toolfold.fuzzy import did_you_mean  # only mistakes need it

        step = did_you_mean(stage, stages).strip() or f"Add a table [stage.{stage}], which may be empty."
        raise SettingsError(f"{path} has no stage {stage}. {step}")
    return settings[""] | settings[stage]


def _load(path: str | Path) -> tuple[str, dict[str, Any]]:
    import tomllib  # not on Lambda: it takes 5 ms

    content = ""
    try:
        with open(path, "rb") as file:
            encoded = file.read(_MAX_BYTES + 1)
        if len(encoded) > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
        content = encoded.decode("utf-8-sig")
        return content, tomllib.loads(content)
    except (OSError, ValueError) as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            line = re.search(r"at line (\d+)", str(error))  # otherwise it is at the end
            number = line[1] if line else len(content.splitlines())
            raise SettingsError(f"{path}:{number}: this is not TOML: {error}.") from None
        raise SettingsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _values(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _values(value, (*above, key))
        else:
            yield (*above, key), value


def _setting(name: str, value: Any) -> tuple[str, str]:
    """Return the variable and the text of a setting, after checking both. A value that may be a key is not shown."""
    variable = PREFIX + name.upper()
    if not is_setting(variable):
        step = did_you_mean_variable(variable, VARIABLES, lambda known: known.removeprefix(PREFIX).lower())
        step = step or "`toolfold help settings` lists the settings."
        raise SettingsError(f"{name} is not a setting. {step}")
    if isinstance(value, list) and all(isinstance(item, str) and "," not in item for item in value):
        text = ",".join(value)
    elif isinstance(value, int | float | str) and "\0" not in str(value):
        text = str(value).lower() if isinstance(value, bool) else str(value)
    else:
        raise SettingsError(f"{name} must be a text, a number, true or false, or an array of texts without commas.")
    is_key = variable in SECRETS or (source_of(variable) or ("", ""))[1] == "KEY"
    if (is_key and text and not text.startswith(("arn:", "ssm:"))) or re.search(r"://[^/@]*:[^/@]*@", text):
        raise SettingsError(
            f"{name} has a key or a password, which does not belong in a file. Set it as the variable {variable}, or "
            "name a secret in AWS: arn:… or ssm:/NAME."
        )
    if variable in VARIABLES:
        VARIABLES[variable].parse(name, text.strip())
    return variable, text


def _line(content: str, names: tuple[str, ...]) -> int:
    """Return the line of a key, which follows the header of its table; of the table, where that is in one line."""
    header = r"[ \t]*\.[ \t]*".join(map(re.escape, names[:-1]))
    table = re.search(rf"(?m)^[ \t]*\[[ \t]*{header}[ \t]*\]", content)
    key = re.compile(rf"(?m)^[ \t]*([\w\"'-]+[ \t]*\.[ \t]*)*[\"']?{re.escape(names[-1])}[\"']?[ \t]*=")
    found = key.search(content, table.end() if table else 0) or table
    if found is None:
        return _line(content, names[:-1]) if names[1:] else 1
    return content.count("\n", 0, found.start()) + 1


def apply_settings(settings: Mapping[str, str] | None = None) -> list[str]:
    """Set the variables that this process lacks, and return their names; None: to the settings of this build."""
    if settings is None and os.path.exists(PACKAGED):
        with open(PACKAGED, "rb") as file:
            settings = json.load(file)
    missing = {name: text for name, text in (settings or {}).items() if name not in os.environ}
    os.environ.update(missing)
    return list(missing)


def main(arguments: list[str]) -> int:
    """Print the settings of a file as JSON, or with ``--extras`` the packages that they name."""
    path, *options = arguments
    try:
        settings = read_settings(path, options[options.index("--stage") + 1] if "--stage" in options else "")
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    print(settings.get("TOOLFOLD_EXTRAS", "").replace(",", " ") if "--extras" in options else json.dumps(settings))
    return 0


_OF_TEMPLATE = r"(s3|dynamodb)://(CatalogBucket|OffloadBucket|CacheTable)(/.*)?|ApprovalSecret"

_STAND_INS = {
    "TOOLFOLD_CATALOG": "",
    "TOOLFOLD_CACHE": "memory",
    "TOOLFOLD_CACHE_BUCKET": "",
    "TOOLFOLD_OFFLOAD": "/tmp/toolfold",  # noqa: S108 - a container has one user
    "TOOLFOLD_APPROVAL_SECRET": "",
}
"""The packaged catalog, a cache in memory, and long answers in a folder."""


def use_stand_ins(variables: MutableMapping[str, str]) -> dict[str, str]:
    """Replace variables that name resources of the template, under `sam local`; return those that were replaced.

    Requests are not signed there, so that every caller is accepted, and may use a key of the environment. A variable
    with another value, as of ``--env-vars``, is not changed.
    """
    if variables.get("AWS_SAM_LOCAL") != "true":
        return {}
    replaced = {
        name: value for name, value in _STAND_INS.items() if re.fullmatch(_OF_TEMPLATE, variables.get(name, ""))
    }
    replaced |= {"TOOLFOLD_ACCESS": "", "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
    variables.update(replaced)
    variables.pop("TOOLFOLD_OAUTH_ISSUER", None)
    return replaced


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
