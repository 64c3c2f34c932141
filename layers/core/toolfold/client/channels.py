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
from datetime import date
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients, error_code
from toolfold.errors import InvalidArguments, ToolfoldError
from toolfold.network import errors
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, NAME_PARAMETER, STATELESS
from toolfold.text_safety import escape_unsafe
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.network.session import Response

VERSION = STATELESS[-1]
MAX_RESPONSE_BYTES = 64 << 20
_META = {
    META_VERSION: VERSION,
    META_CAPABILITIES: {},
    "io.modelcontextprotocol/clientInfo": {"name": "toolfold-client", "version": __version__},
}
_MAX_REASON_BYTES = 400

_HINTS = {
    401: "send an access token, or the API key of the endpoint",
    403: "the access token does not allow this",
    404: "the path of the endpoint is usually /mcp",
    429: "too many requests at once; try again in some seconds",
}
"""HTTP status → what helps."""


class ClientError(ToolfoldError):
    """A server that cannot be reached, or that does not answer as MCP says; or a request that cannot be signed.

    Attributes:
        status: The HTTP status; 0 without one.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


_SERVICE = "execute-api"
_HOST = re.compile(rf"[a-z0-9]+\.{_SERVICE}\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")


def region_of_address(url: str) -> str:
    """Return the region in the address of an API of API Gateway; empty for others, such as a domain of one's own.

    >>> region_of_address("https://abc123.execute-api.eu-central-1.amazonaws.com/mcp")
    'eu-central-1'
    """
    found = _HOST.fullmatch(urlsplit(url).hostname or "")
    return found[1] if found else ""


class Signer:
    """Sign requests with the credentials that the AWS tools find. Safe to use from many threads.

    Args:
        region: The region of the deployment.
    """

    def __init__(self, region: str) -> None:
        self.region = region
        self._aws = AwsClients()

    def __call__(self, request: Any) -> Any:
        """Add the headers of a signature: what ``auth=`` of the requests library calls before it sends.

        Raises:
            ClientError: There are no credentials, or they are expired and cannot be renewed.
            ModuleNotFoundError: botocore is not installed: it is of the extra aws.
        """
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError
        from botocore.exceptions import ClientError as ServiceError

        try:
            credentials = self._aws.credentials()
        except (BotoCoreError, ServiceError) as error:
            raise ClientError(
                f"The request has to be signed, and there are no AWS credentials that can be used "
                f"({error_code(error)}): run `aws sso login` or `aws configure`, or set AWS_PROFILE."
            ) from None
        # Proxies may change other headers; SigV4 requires the host and what is named X-Amz, which botocore adds.
        headers = {"Content-Type": request.headers["Content-Type"]} if "Content-Type" in request.headers else {}
        signed = AWSRequest(request.method, request.url, headers, request.body)
        SigV4Auth(credentials, _SERVICE, self.region).add_auth(signed)
        request.headers.update(signed.headers.items())
        return request


class HttpChannel:
    """An endpoint over HTTP.

    Once API Gateway has refused a request because it is not signed, that and all further ones are signed.

    Args:
        url: Its address, for example ``https://example.com/mcp``.
        headers: Further headers, such as ``Authorization``. They are sent to this address alone.
        timeout_s: Seconds to wait for a response.
        sign: Region to sign all requests for; empty: that of an address of API Gateway, where it has to be.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float, sign: str = "") -> None:
        if not url.startswith(("https://", "http://")):
            raise ClientError(
                f"The address of an endpoint begins with https://, or is stdio; {url[:100]!r} is neither."
            )
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):  # the HTTP library would repeat it in its error
                raise ClientError(f"The value of the header {name} has characters that no header may have.")
        if sign and "Authorization" in headers:
            raise ClientError("A signature takes the place of an access token in a request: leave out one of the two.")
        self.url, self._timeout_s = url, timeout_s
        self._headers = dict(headers)
        self._signer = Signer(sign) if sign else None
        from toolfold.network.session import HttpClient

        self._client = HttpClient()

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. Safe to use from many threads.

        Raises:
            ClientError: No result came, or the server sent an error of JSON-RPC.
        """
        response = self._post(method, params)
        may_sign = self._signer is None and "Authorization" not in self._headers
        if may_sign and (region := region_of_address(self.url)) and is_forbidden(response.status, response.body):
            self._signer = Signer(region)
            response = self._post(method, params)
        return self._result(response)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _post(self, method: str, params: Mapping[str, Any]) -> Response:
        headers = {
            **self._headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",  # MCP requires both; toolfold has no streams
            "User-Agent": f"toolfold-client/{__version__}",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        if (name := params.get(NAME_PARAMETER.get(method, ""))) is not None:
            headers["Mcp-Name"] = str(name)
        body = _encoded(1, method, params).encode()
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
                max_bytes=MAX_RESPONSE_BYTES,
                is_allowed=None,
            )
        except (errors.ConnectTimeout, errors.DeadlineBeforeConnection, errors.ReadTimeout):
            raise ClientError(f"{self.url} did not answer within {self._timeout_s:g} s.") from None
        except errors.ResponseTooLarge:
            raise ClientError(f"The response is larger than {MAX_RESPONSE_BYTES >> 20} MB.") from None
        except errors.TransportError as error:
            raise ClientError(f"{self.url} cannot be reached: {error.reason}.") from None

    def _result(self, response: Response) -> dict[str, Any]:
        result = _result_of(_parsed(response.body), response.status)
        if result is None:
            hint = self._hint(response).rstrip(".")
            raise ClientError(f"{self.url} answered with HTTP {response.status}: {hint}.", response.status)
        return result

    def _hint(self, response: Response) -> str:
        """Return why a response is not one of MCP, or what helps."""
        status, is_text = response.status, response.headers.get("Content-Type", "").startswith("text/plain")
        if 300 <= status < 400:
            return f"it redirects to {response.headers.get('Location', 'nowhere')[:200]}; use that address"
        if status == 403 and self._signer is not None:
            return (
                "the AWS credentials are expired, or lack execute-api:Invoke on this API in the region "
                f"{self._signer.region}; `aws sts get-caller-identity` shows them"
            )
        if is_forbidden(status, response.body) and "Authorization" in self._headers:
            return "it takes signed requests; leave out the access token"
        if is_forbidden(status, response.body):
            return "it takes signed requests; name the region of the deployment to sign them for, with --sign or sign="
        if status == 404 and is_text:  # what a server says of a path that it does not have
            said = response.body[:_MAX_REASON_BYTES].decode("utf-8", "replace").strip().partition("\n")[0]
            return escape_unsafe(said) or _HINTS[status]
        return _HINTS.get(status, "it does not answer as an MCP server")


def find_access(url: str) -> str:
    """Return how a deployment is reached, from its answer to one unsigned request that only lists tools.

    Returns:
        ``iam`` where requests have to be signed, ``oauth`` where they need an access token, else ``open``.

    Raises:
        ClientError: The address cannot be used or reached, or does not answer as an MCP server.
    """
    with contextlib.closing(HttpChannel(url, {}, timeout_s=30.0)) as channel:
        response = channel._post("tools/list", {})
        if is_forbidden(response.status, response.body):
            return "iam"
        if response.status == 401:
            return "oauth"
        channel._result(response)  # raises where it is not an endpoint
        return "open"


class StdioChannel:
    """A server in a child process, over its standard input and output; its stderr is that of this process.

    Args:
        command: The program and its arguments.
        environment: Variables for it beside those of this process.
        timeout_s: Seconds to wait for a response.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> None:
        self._timeout_s, self._ids, self._lock = timeout_s, itertools.count(1), threading.Lock()
        self._waiting: dict[int, Future[Mapping[str, Any]]] = {}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the caller chooses the program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **environment},
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise ClientError(f"{command[0]} cannot be started: {error.strerror}.") from None
        self._stdin: Any = self._process.stdin
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. See :meth:`HttpChannel.request`."""
        number, waiting = next(self._ids), Future[Mapping[str, Any]]()
        line = _encoded(number, method, params) + "\n"
        self._waiting[number] = waiting
        try:
            with self._lock:
                self._stdin.write(line)
                self._stdin.flush()
            answer = waiting.result(self._timeout_s)
        except TimeoutError:
            raise ClientError(f"The server did not answer within {self._timeout_s:g} s.") from None
        except (OSError, ValueError):
            answer = {}
        finally:
            self._waiting.pop(number, None)
        if (result := _result_of(answer)) is not None:
            return result
        if answer:
            raise ClientError("The server answered without a result.")
        raise ClientError("The server has ended; stderr may say why. Open another Client to start it again.")

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


def _encoded(number: int, method: str, params: Mapping[str, Any]) -> str:
    """Return a request as JSON; dates are texts there.

    Raises:
        InvalidArguments: An argument has no form in JSON.
    """
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _META}}
    try:
        return json.dumps(message, default=_in_json, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(
            f"The arguments have no form in JSON: {error}.", "Pass texts, numbers, lists and objects; nothing was sent."
        ) from None


def _in_json(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a value of the type {type(value).__name__}")


def _parsed(text: str | bytes) -> Mapping[str, Any]:
    """Return a response of JSON-RPC; empty where the text has no object: it may be broken, or nested too deeply."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(answer := json.loads(text), dict):
            return answer
    return {}


def _result_of(answer: Mapping[str, Any], status: int = 200) -> dict[str, Any] | None:
    """Return the result in a response; None: it has none.

    Raises:
        ClientError: It is an error of JSON-RPC.
    """
    result, error = answer.get("result"), answer.get("error")
    if isinstance(error, Mapping):
        raise ClientError(f"The server refuses the request: {error.get('message', 'it does not say why')}", status)
    return result if isinstance(result, dict) else None


def is_forbidden(status: int, content: bytes) -> bool:
    """Return whether API Gateway itself refuses a request. Its HTTP APIs say no more to a request without signature."""
    return status == 403 and content.strip() == b'{"message":"Forbidden"}'
