"""Carry JSON-RPC messages of MCP to a server: over HTTP, or over stdio to a child process.

Requests are those of the stateless version of MCP: each has its own envelope, and no connection has to be opened. Those
to a deployment with ``Access=iam`` are signed as API Gateway verifies them: SigV4 for ``execute-api``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients, error_code
from toolfold.errors import InvalidArguments, ToolfoldError
from toolfold.network.errors import TransportError
from toolfold.network.session import HttpClient, Response
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, NAME_PARAMETER, STATELESS
from toolfold.version import __version__

_META = {
    META_VERSION: STATELESS[-1],
    META_CAPABILITIES: {},
    "io.modelcontextprotocol/clientInfo": {"name": "toolfold-client", "version": __version__},
}
_HINTS = {
    401: "send an access token, or the API key of the endpoint",
    403: "the access token does not allow this",
    404: "MCP is served at /mcp and /mcp/PROFILE",
    429: "too many requests at once; try again in some seconds",
}
"""HTTP status → what helps."""

_SIGNED = "it takes signed requests, no access token; set the region (--sign, sign=), see `aws sts get-caller-identity`"
_SERVICE = "execute-api"
_HOST = re.compile(rf"[a-z0-9]+\.{_SERVICE}\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")


class ClientError(ToolfoldError):
    """A server that cannot be reached, or that does not answer as MCP says; or a request that cannot be signed.

    Attributes:
        status: The HTTP status; 0 without one.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def region_of_address(url: str) -> str:
    """Return the region in the address of an API of API Gateway; empty for others, such as a domain of one's own.

    >>> region_of_address("https://abc123.execute-api.eu-central-1.amazonaws.com/mcp")
    'eu-central-1'
    """
    found = _HOST.fullmatch(urlsplit(url).hostname or "")
    return found[1] if found else ""


def is_forbidden(status: int, content: bytes) -> bool:
    """Return whether API Gateway itself refuses a request. Its HTTP APIs say no more to a request without signature."""
    return status == 403 and content.strip() == b'{"message":"Forbidden"}'


class Signer:
    """Sign requests for a region with the credentials that the AWS tools find. Safe to use from many threads."""

    def __init__(self, region: str) -> None:
        self._region, self._aws = region, AwsClients()

    def __call__(self, request: Any) -> Any:
        """Add the headers of a signature: what ``auth=`` of the requests library calls before it sends."""
        from botocore import exceptions
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        try:
            credentials = self._aws.credentials()
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            raise ClientError(
                f"The request has to be signed, and there are no AWS credentials that can be used "
                f"({error_code(error)}): run `aws sso login` or `aws configure`, or set AWS_PROFILE."
            ) from None
        # Proxies may change other headers than the host and what is named X-Amz, which botocore adds.
        signed = AWSRequest(request.method, request.url, data=request.body)
        SigV4Auth(credentials, _SERVICE, self._region).add_auth(signed)
        request.headers.update(signed.headers.items())
        return request


class HttpChannel:
    """An endpoint over HTTP. ``sign`` is the region to sign all requests for.

    Once an address of API Gateway has refused a request because it is not signed, that and all further ones are signed.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float, sign: str = "") -> None:
        if not url.startswith(("https://", "http://")):
            raise ClientError(f"An address begins with https://, or is stdio; {url[:100]!r} is neither.")
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):  # the HTTP library would repeat it, or send it
                raise ClientError(f"The value of the header {name} has characters that no header may have.")
        if sign and "Authorization" in headers:
            raise ClientError("A signature takes the place of an access token in a request: leave out one of the two.")
        self.url, self._headers, self._timeout_s = url, headers, timeout_s
        self._signer, self._client = Signer(sign) if sign else None, HttpClient()

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result; raise what explains that none came. Safe to use from many threads."""
        response = self.post(method, params)
        is_refused, region = is_forbidden(response.status, response.body), region_of_address(self.url)
        if is_refused and region and self._signer is None and "Authorization" not in self._headers:
            self._signer = Signer(region)
            response = self.post(method, params)
        return self.result_of(response)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def post(self, method: str, params: Mapping[str, Any]) -> Response:
        """Send a request and return the response as it is."""
        body = _encoded(1, method, params)
        headers = {
            **self._headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",  # MCP requires both; toolfold has no streams
            "User-Agent": f"toolfold-client/{__version__}",
            "MCP-Protocol-Version": STATELESS[-1],
            "Mcp-Method": method,
        }
        if (name := params.get(NAME_PARAMETER.get(method, ""))) is not None:
            headers["Mcp-Name"] = str(name)
        if self._signer is not None:
            self._signer(SimpleNamespace(method="POST", url=self.url, headers=headers, body=body))
        try:
            return self._client.request(
                "POST",
                self.url,
                headers=headers,
                body=body,
                deadline=time.monotonic() + self._timeout_s,
                connect_timeout_s=self._timeout_s,
                max_bytes=64 << 20,
                is_allowed=None,
            )
        except TransportError as error:
            raise ClientError(f"{self.url} cannot be reached: {error.reason}.") from None

    def result_of(self, response: Response) -> dict[str, Any]:
        """Return the result in a response; without one, raise what explains it."""
        status, hint = response.status, _HINTS.get(response.status, "it does not answer as an MCP server")
        if status == 403 and (self._signer is not None or is_forbidden(status, response.body)):
            hint = _SIGNED
        if location := response.headers.get("Location", ""):
            hint = f"it redirects to {location[:200]}; use that address"
        return _result_of(_parsed(response.body), f"{self.url} answered with HTTP {status}: {hint}.", status)


def find_access(url: str) -> str:
    """Return how a deployment is reached, from its answer to one unsigned request that only lists tools.

    Returns:
        ``iam`` where requests have to be signed, ``oauth`` where they need an access token, else ``open``.

    Raises:
        ClientError: The address cannot be used or reached, or does not answer as an MCP server.
    """
    with contextlib.closing(HttpChannel(url, {}, timeout_s=30.0)) as channel:
        response = channel.post("tools/list", {})
        if is_forbidden(response.status, response.body) or response.status == 401:
            return "oauth" if response.status == 401 else "iam"
        channel.result_of(response)  # raises where it is not an endpoint
        return "open"


class StdioChannel:
    """A server in a child process, over its standard input and output; its stderr is that of this process."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> None:
        self._timeout_s, self._ids, self._lock = timeout_s, itertools.count(1), threading.Lock()
        self._waiting = dict[int, Future[Mapping[str, Any]]]()
        pipe, variables = subprocess.PIPE, {**os.environ, **environment}
        try:  # the caller chooses the program
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=variables)  # noqa: S603
        except OSError as error:
            raise ClientError(f"{command[0]} cannot be started: {error.strerror}.") from None
        self._stdin: Any = self._process.stdin
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. See :meth:`HttpChannel.request`."""
        number, waiting = next(self._ids), Future[Mapping[str, Any]]()
        line = _encoded(number, method, params) + b"\n"
        self._waiting[number] = waiting
        try:
            with self._lock:
                self._stdin.write(line)
                self._stdin.flush()
            answer = waiting.result(self._timeout_s)
        except (OSError, ValueError):  # the pipe is closed, or the time is over
            answer = {}
        finally:
            self._waiting.pop(number, None)
        return _result_of(answer, "The server has ended, is too slow, or no server of MCP; stderr may say why.")

    def close(self) -> None:
        """End the process: at the end of its input, or by force after some seconds."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(5)
        with self._process:  # closes the pipes
            pass

    def _read_answers(self) -> None:
        for line in self._process.stdout or ():
            answer = _parsed(line)
            if isinstance(number := answer.get("id"), int) and (waiting := self._waiting.pop(number, None)) is not None:
                waiting.set_result(answer)
        for waiting in list(self._waiting.values()):
            waiting.set_result({})


def _encoded(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request as JSON; dates are texts there."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _META}}
    try:
        return json.dumps(message, default=lambda value: value.isoformat(), allow_nan=False).encode()
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(
            f"The arguments have no form in JSON: {error}.", "Pass texts, numbers, lists and objects; nothing was sent."
        ) from None


def _parsed(text: bytes) -> Mapping[str, Any]:
    """Return a response of JSON-RPC; empty where the text has no object: it may be broken, or nested too deeply."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(answer := json.loads(text.decode("utf-8", "replace")), dict):
            return answer
    return {}


def _result_of(answer: Mapping[str, Any], otherwise: str, status: int = 0) -> dict[str, Any]:
    """Return the result in a response; raise its error, or one with the message ``otherwise``."""
    if isinstance(error := answer.get("error"), Mapping):
        raise ClientError(f"The server refuses the request: {error.get('message', 'it does not say why')}", status)
    if isinstance(result := answer.get("result"), dict):
        return result
    raise ClientError(otherwise, status)
