"""The file of settings: ``settings.toml``, on a laptop and, packaged as JSON by the build, on Lambda.

The setting ``TOOLFOLD_MAX_TOKENS`` is ``max_tokens``; tables join their names, so that ``audience`` in ``[oauth]`` is
``TOOLFOLD_OAUTH_AUDIENCE``. A list is an array. ``[stage.NAME]`` has what is different in one stage. Environment
variables override the file. The build runs this module with the standard library alone::

    python -m toolfold.settings.file settings.toml --stage prod > settings.json
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from toolfold.errors import SettingsError
from toolfold.settings.model import PREFIX, SECRETS, VARIABLES, source_of, suggest_variable

PACKAGED = os.path.join(os.path.dirname(__file__), "settings.json")
"""The settings of a build for Lambda."""


def read_settings(path: str | os.PathLike[str], stage: str = "") -> dict[str, str]:
    """Return the settings of a file, variable → text, with those of the table of ``stage``, if it is not empty.

    Raises:
        SettingsError: the file cannot be read, or has a mistake in any stage; names file, line and the nearest name.
    """
    import tomllib  # not on Lambda: it takes 5 ms

    content = ""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            content = file.read()
        tables = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))  # otherwise it is at the end
        number = line[1] if line else len(content.splitlines())
        raise SettingsError(f"{path}:{number}: this is not TOML: {error}.") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
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
        from toolfold.fuzzy import closest  # only mistakes need it

        raise SettingsError(f"{path} has no stage {stage}.{closest(stage, stages)} Add a table [stage.{stage}].")
    return settings[""] | settings[stage]


def _values(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _values(value, (*above, key))
        else:
            yield (*above, key), value


def _setting(name: str, value: Any) -> tuple[str, str]:
    """Return the variable and the text of a setting, after checking both. A value that may be a key is not shown."""
    variable = PREFIX + name.upper()
    if variable not in VARIABLES and not source_of(variable):
        known = {one.removeprefix(PREFIX): one.removeprefix(PREFIX).lower() for one in VARIABLES}
        raise SettingsError(f"{name} is not a setting. {suggest_variable(variable.rpartition(PREFIX)[2], known)}")
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
    """Return the line in which a setting ends: the shortest beginning of the file that has it."""
    import tomllib  # as above

    lines = content.splitlines(keepends=True)
    for number in range(1, len(lines)):
        with contextlib.suppress(tomllib.TOMLDecodeError):  # ends within a value
            if names in dict(_values(tomllib.loads("".join(lines[:number])))):
                return number
    return len(lines)


def apply_settings(settings: Mapping[str, str] | None = None) -> list[str]:
    """Set the variables that this process lacks, and return their names; None: to the settings of this build."""
    if settings is None and os.path.exists(PACKAGED):
        with open(PACKAGED, "rb") as file:
            settings = json.load(file)
    missing = {name: text for name, text in (settings or {}).items() if name not in os.environ}
    os.environ.update(missing)
    return list(missing)


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

    There is no stack, so that logical IDs stand for its resources: ``s3://CatalogBucket/catalog``. Requests are not
    signed: every caller is accepted, and may use a key of the environment. A variable with another value, as of
    ``--env-vars``, is not changed.
    """
    if variables.get("AWS_SAM_LOCAL") != "true":
        return {}
    replaced = {
        name: value for name, value in _STAND_INS.items() if re.fullmatch(_OF_TEMPLATE, variables.get(name, ""))
    }
    replaced |= {"TOOLFOLD_ACCESS": "", "TOOLFOLD_OAUTH_ISSUER": "", "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
    variables.update(replaced)
    return replaced


if __name__ == "__main__":
    _, path, *options = sys.argv
    try:
        packaged = read_settings(path, options[options.index("--stage") + 1] if "--stage" in options else "")
    except SettingsError as error:
        sys.exit(str(error))
    print(packaged.get("TOOLFOLD_EXTRAS", "").replace(",", " ") if "--extras" in options else json.dumps(packaged))
