"""API keys that are kept in AWS and not in the environment.

==============================================  ==============================================================
``arn:aws:secretsmanager:REGION:…:secret:NAME``   a secret that is the key
``arn:aws:secretsmanager:…:secret:NAME#FIELD``    a secret that is a JSON object; the key is its FIELD
``ssm:/PATH``, ``arn:aws:ssm:…:parameter/PATH``   a parameter, decrypted where it is a SecureString
==============================================  ==============================================================

Powertools reads and caches them. Its import brings boto3 with it, so it happens here, at the first call that needs it.
"""

from __future__ import annotations

import functools
import json
import logging
from typing import Any

logger = logging.getLogger("toolfold")

_last_known: dict[str, str] = {}
"""Reference → what was read last: when AWS is out of reach, the old key is better than none."""


def read(reference: str, max_age_s: float, timeout_s: float) -> str:
    """The key that ``reference`` names; what was last read when AWS does not answer; empty when there is none.

    Args:
        max_age_s: seconds for which a key is not read again.
        timeout_s: seconds to connect to AWS, and as many for its answer.
    """
    try:
        _last_known[reference] = _fetch(reference, max_age_s, timeout_s).strip()
    except Exception as error:  # noqa: BLE001 - boto3's and Powertools' errors have no base in common
        # The names of the errors alone: their texts may hold the reference, and JSON's the secret.
        cause = error.__cause__ or error.__context__
        logger.error("the API key cannot be read from AWS: %s %s", type(error).__name__, type(cause).__name__)
    return _last_known.get(reference, "")


def _fetch(reference: str, max_age_s: float, timeout_s: float) -> str:
    place, _, field = reference.partition("#")
    # arn:partition:service:region:account:…
    parts = place.split(":", 5)
    region = parts[3] if place.startswith("arn:") else ""
    if place.startswith("ssm:") or parts[2] == "ssm":
        name = place.removeprefix("ssm:")
        return str(_provider("ssm", region, timeout_s).get(name, max_age=int(max_age_s), decrypt=True))
    value = _provider("secretsmanager", region, timeout_s).get(place, max_age=int(max_age_s))
    text = value.decode() if isinstance(value, bytes) else str(value)
    return str(json.loads(text)[field]) if field else text


@functools.cache
def _provider(service: str, region: str, timeout_s: float) -> Any:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider, SSMProvider
    from botocore.config import Config

    config = Config(
        region_name=region or None,
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        retries={"total_max_attempts": 1},
    )
    return {"ssm": SSMProvider, "secretsmanager": SecretsProvider}[service](boto_config=config)
