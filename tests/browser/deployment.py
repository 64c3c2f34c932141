"""The Lambda handler behind HTTP, below a stage, as API Gateway calls it."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.browser.explorer import Explorer
from tests.support.lambda_handler import make_handler
from tests.support.local_server import Handler, LocalServer

STAGE = "/prod"


@dataclass(frozen=True)
class Deployment(Explorer):
    """A page below a stage, which has no token in its address."""

    def view(self, route: str) -> str:
        """Return the address of a view."""
        return f"{self.entry}#/{route}"


class _Gateway(LocalServer):
    handler: Any = None


class _Handler(Handler):
    server: _Gateway

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        below = parts.path.removeprefix(STAGE)
        route = "GET /" if below in ("", "/") else "ANY /ui/{proxy+}" if below.startswith("/ui/") else "ANY /mcp"
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        event = {
            "version": "2.0",
            "routeKey": route,
            "rawPath": parts.path,
            "rawQueryString": parts.query,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "requestContext": {"http": {"method": self.command}},
            "body": body.decode(),
        }
        answer = self.server.handler(event, 29.0)
        content = answer["body"].encode()
        headers = {name: value for name, value in answer["headers"].items() if name != "content-length"}
        self.reply(answer["statusCode"], headers, base64.b64decode(content) if answer["isBase64Encoded"] else content)

    do_POST = do_GET


@contextmanager
def running_deployment(environment: Mapping[str, str], log: Path) -> Iterator[Deployment]:
    """Serve a deployment with these settings until the end of the ``with`` statement; PublicUrl is its address."""
    with _Gateway(_Handler) as gateway:
        origin = f"http://127.0.0.1:{gateway.server_port}"
        gateway.handler = make_handler({**environment, "TOOLFOLD_PUBLIC_URL": f"{origin}{STAGE}/mcp"})
        yield Deployment(f"{origin}{STAGE}/", log)
