"""The routes of the template in front of the handler, and API Gateway's check of signatures for ``Access=iam``."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.http_api import Request, event_for, response_from
from tests.support.local_server import Handler, LocalServer

REGION = "eu-central-1"
CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "SESSION/TOKEN+1")
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key,
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_key,
    "AWS_SESSION_TOKEN": str(CREDENTIALS.token),
}
FORBIDDEN = (403, {"content-type": "application/json"}, b'{"message":"Forbidden"}')
"""How an HTTP API refuses a request whose signature is absent or wrong."""

_SCOPE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<credential>\S+), SignedHeaders=(?P<names>\S+), Signature=(?P<signature>\S+)"
)


def is_signed(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether a request has the signature that botocore computes for what has arrived."""
    found = _SCOPE.fullmatch(headers.get("authorization", ""))
    if found is None or found["credential"].split("/")[2:] != [REGION, "execute-api", "aws4_request"]:
        return False
    names = found["names"].split(";")
    if not {"host", "x-amz-date", "x-amz-security-token"} <= {*names} or not {*names} <= {*headers}:
        return False
    signer = SigV4Auth(CREDENTIALS, "execute-api", REGION)
    arrived = AWSRequest(method, f"http://{headers['host']}{target}", {name: headers[name] for name in names}, body)
    arrived.context["timestamp"] = headers["x-amz-date"]
    expected = signer.signature(signer.string_to_sign(arrived, signer.canonical_request(arrived)), arrived)
    same_token = headers["x-amz-security-token"] == CREDENTIALS.token
    return same_token and found["credential"].split("/")[0] == CREDENTIALS.access_key and expected == found["signature"]


@contextmanager
def deployed_api(answer: Callable[[dict[str, Any]], Any], access: str = "") -> Iterator[str]:
    """Serve the routes of the template, and yield the URL of the endpoint.

    Args:
        answer: The handler.
        access: With ``iam`` all routes but OPTIONS and ``GET /health`` need a signature.
    """

    class Route(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            url = urlsplit(self.path)  # of a request through a proxy a whole URL
            path, target = url.path, url._replace(scheme="", netloc="").geturl()
            headers = {name.lower(): value for name, value in self.headers.items()}
            if not re.fullmatch(r"/mcp(/\w+)?|/health|/register|/\.well-known/.+", path):
                return self.reply(404, {}, b'{"message":"Not Found"}')
            event = event_for(Request(self.command, target, list(headers.items()), body), path)
            if access == "iam" and self.command != "OPTIONS" and path != "/health":
                if not is_signed(self.command, target, headers, body):
                    return self.reply(*FORBIDDEN)
                event["requestContext"]["authorizer"] = {"iam": {"userArn": "arn:aws:iam::123456789012:user/anna"}}
            return self.reply(*response_from(answer(event)))

        do_GET = do_OPTIONS = do_POST

    with LocalServer(Route) as server:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
