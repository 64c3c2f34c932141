"""Who calls, as approvals and the audit log name it."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.execution.credentials import RequestCredentials

__all__ = ["principal_id"]


def principal_id(credentials: RequestCredentials, secret: bytes) -> str:
    """Return the id of the caller: that of the access token, else a hash of the API keys in the request, else "".

    Args:
        credentials: of the request.
        secret: key of the hash, so that keys cannot be found by trying.
    """
    if credentials.caller:
        return credentials.caller
    keys = [credentials.bearer, credentials.x_api_key, credentials.query, sorted(credentials.named.items())]
    if not any(keys):
        return ""
    return "key-" + hmac.new(secret, b"caller " + json.dumps(keys).encode(), hashlib.sha256).hexdigest()[:32]
