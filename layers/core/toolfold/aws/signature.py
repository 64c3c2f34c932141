"""AWS Signature Version 4 for a POST: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.aws.credentials import Credentials


def sign(
    headers: Mapping[str, str],
    body: bytes,
    service: str,
    region: str,
    credentials: Credentials,
    now: float,
    path: str = "/",
) -> dict[str, str]:
    """``headers``, all of which are signed, and those that prove who sends them.

    ``headers`` has the ``Host`` that is asked; ``path`` is that of the address, without a query. ``now`` is in seconds
    since 1970.
    """
    import hashlib
    import hmac
    from urllib.parse import quote

    def digest(key: bytes, text: str) -> bytes:
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    sent = {**headers, "X-Amz-Date": moment}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token
    canonical = sorted((name.lower(), " ".join(value.split())) for name, value in sent.items())
    names = ";".join(name for name, _ in canonical)
    lines = "".join(f"{name}:{value}\n" for name, value in canonical)
    request = f"POST\n{quote(path, safe='/~')}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    key = digest(f"AWS4{credentials.secret_key}".encode(), moment[:8])
    for part in (region, service, "aws4_request"):
        key = digest(key, part)
    hashed = hashlib.sha256(request.encode()).hexdigest()
    signature = digest(key, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}").hex()
    sent["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return sent
