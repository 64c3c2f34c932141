"""API keys that are kept in AWS and not in the environment.

==============================================  ==============================================================
``arn:aws:secretsmanager:REGION:…:secret:NAME``   a secret that is the key
``arn:aws:secretsmanager:…:secret:NAME#FIELD``    a secret that is a JSON object; the key is its FIELD
``ssm:/PATH``, ``arn:aws:ssm:…:parameter/PATH``   a parameter, decrypted where it is a SecureString
==============================================  ==============================================================
"""

from __future__ import annotations

import logging
import time

from toolfold.aws import clients
from toolfold.aws.credentials import AwsError

logger = logging.getLogger("toolfold")

_held: dict[str, tuple[str, float]] = {}
"""Reference → what was read last, and when (``time.monotonic``). When AWS is out of reach, the old key is better than
none."""


def get_secret(reference: str, max_age_s: float, timeout_s: float) -> str:
    """The key that ``reference`` names; what was last read when AWS does not answer; empty when there is none.

    Args:
        max_age_s: seconds for which a key is not read again.
        timeout_s: seconds to connect to AWS, and as many for its answer.
    """
    key, read_at = _held.get(reference, ("", 0.0))
    # Not below 0: the clock of an environment that was put to sleep may come back earlier.
    if key and 0 <= time.monotonic() - read_at < max_age_s:
        return key
    try:
        key = _fetch(reference, timeout_s).strip()
        _held[reference] = key, time.monotonic()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the reference or what it leads to
        # AWS's own word, or the error's name alone: texts may hold the reference, and JSON's the secret.
        what = error.code if isinstance(error, AwsError) else type(error).__name__
        logger.error("the API key cannot be read from AWS: %s", what)
    return key


def forget() -> None:
    """Hold no key of before: the next call that needs one reads it anew."""
    _held.clear()


def _fetch(reference: str, timeout_s: float) -> str:
    place, _, field = reference.partition("#")
    # arn:partition:service:region:account:…
    parts = place.split(":", 5)
    region = parts[3] if place.startswith("arn:") else ""
    if place.startswith("ssm:") or parts[2] == "ssm":
        asked = {"Name": place.removeprefix("ssm:"), "WithDecryption": True}
        return str(clients.ask("ssm", "GetParameter", asked, timeout_s, region)["Parameter"]["Value"])
    found = clients.ask("secretsmanager", "GetSecretValue", {"SecretId": place}, timeout_s, region)
    if "SecretString" in found:
        text = str(found["SecretString"])
    else:
        from base64 import b64decode

        text = b64decode(found["SecretBinary"], validate=True).decode()
    if not field:
        return text
    import json

    return str(json.loads(text)[field])
