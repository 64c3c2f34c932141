"""What botocore's clients send requests with: toolfold's HTTP client.

botocore restarts its time-out with every read, so a response that arrives byte by byte could last forever. Here the
time-out is for all of a request and its response, whose size is limited too.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse  # noqa: TID253 - imported by the first client
from botocore.exceptions import HTTPClientError  # noqa: TID253 - as above

from toolfold.network.errors import ConnectionBroken, TransportError
from toolfold.network.session import HttpClient

MAX_RESPONSE_BYTES = 64_000_000
"""The largest values are cached responses, of at most ``TOOLFOLD_MAX_RESPONSE_BYTES`` (25 MB) and what JSON adds."""


class _Body(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        """Yield the content, as urllib3's response does."""
        yield self.read()


class HttpSession:
    """Send requests of a client of botocore. ``timeout_s``: to connect, and again for a request and its response."""

    def __init__(self, http_client: HttpClient, timeout_s: float) -> None:
        self._http_client, self._timeout_s = http_client, timeout_s

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Send a request and return its complete response.

        Raises:
            botocore.exceptions.HTTPClientError: there is no response; its cause says why.
        """
        body: Any = request.body
        try:
            response = self._http_client.request(
                request.method,
                request.url,
                headers=dict(request.headers.items()),
                body=body.read() if hasattr(body, "read") else body,
                deadline=time.monotonic() + 2 * self._timeout_s,
                connect_timeout_s=self._timeout_s,
                answer_timeout_s=self._timeout_s,
                max_bytes=MAX_RESPONSE_BYTES,
                is_allowed=None,
            )
        except TransportError as error:
            raise HTTPClientError(error=error.reason) from error
        # botocore compares what is read with the length, which is that of the compressed body.
        length = {"Content-Length": str(len(response.body))} if response.body else {}
        return AWSResponse(request.url, response.status, {**response.headers, **length}, _Body(response.body))


def retry_read(attempts: int, operation: Any, caught_exception: Exception | None, **_: Any) -> float | None:
    """Send a ``Get…`` request once more when its idle connection had been closed.

    AWS closes connections after some seconds, and a function that was frozen does not notice.

    Returns:
        The seconds to wait, as botocore expects it from handlers of ``needs-retry``; None for no retry.
    """
    if attempts != 1 or not operation.name.startswith("Get"):
        return None
    return 0.0 if isinstance(getattr(caught_exception, "__cause__", None), ConnectionBroken) else None
