"""What is answered to a request that needs the issuer while it cannot be reached."""

from __future__ import annotations

from toolfold.errors import IssuerUnavailable
from toolfold.protocol.http import Response, error_response


def unavailable(retry_after_s: float) -> Response:
    """Return the response to a request that needs the issuer while it cannot be reached."""
    refusal = error_response(
        503, "The issuer of access tokens cannot be reached.", ("retry-after", str(round(retry_after_s)))
    )
    return refusal._replace(log_fields={**refusal.log_fields, "error": IssuerUnavailable.code})
