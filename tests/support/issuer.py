"""An OpenID Connect issuer with real keys, over HTTP."""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.support.local_server import Handler, LocalServer

ALGORITHMS = {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519", "oct": "HS256"}

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""

Key = RSAKey | ECKey | OKPKey | OctKey


_FIRST_KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
"""Of every issuer: making a key takes a tenth of a second."""


class Issuer(LocalServer):
    """Serves metadata and keys, and signs tokens, inside a ``with`` statement.

    Attributes:
        url: The issuer's URL.
        keys: The published keys.
        requests: The paths that were requested.
        is_down: Whether every request is answered with 503.
        metadata: What is added to the metadata, or replaces it.
        replies: Path → status, headers and body that are sent instead.
        is_held: While it is not set, requests wait.
        is_waiting: Set by a request that waits.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = [_FIRST_KEY]
        self.requests: list[str] = []
        self.is_down = False
        self.metadata: dict[str, Any] = {}
        self.replies: dict[str, Reply] = {}
        self.is_held, self.is_waiting = threading.Event(), threading.Event()
        self.is_held.set()
        super().__init__(_Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/tenant"

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return status, headers and body of a response."""
        found = self.respond(path) if method == "GET" else None
        return 404 if found is None else 200, {"content-type": "application/json"}, json.dumps(found).encode()

    def respond(self, path: str) -> Any:
        """Return the document at ``path``, or None."""
        if path == "/tenant/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.metadata}
        if path == "/tenant/keys":
            return {"keys": [key.as_dict(private=False) for key in self.keys]}
        return None

    def token(
        self, audience: str, key: Key | None = None, *, header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """Sign a token; a claim that is None is left out."""
        key = key or self.keys[-1]
        standard = {
            "iss": self.url,
            "aud": audience,
            "sub": "user-1",
            "exp": int(time.time()) + 300,
            "scope": "tools:read tools:call",
        }
        given = {name: value for name, value in {**standard, **claims}.items() if value is not None}
        algorithm = ALGORITHMS[key.key_type]
        full = {"alg": algorithm, "kid": key.kid, **(header or {})}
        headers = {name: value for name, value in full.items() if value is not None}
        registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
        registry.max_header_length = 20_000
        return jwt.encode(headers, given, key, registry=registry)


class _Handler(Handler):
    protocol_version = "HTTP/1.0"
    server: Issuer

    def do_GET(self) -> None:
        issuer = self.server
        issuer.requests.append(self.path)
        if not issuer.is_held.is_set():
            issuer.is_waiting.set()
            issuer.is_held.wait(10)
        found = (503, {}, b"") if issuer.is_down else issuer.handle("GET", self.path, self.headers, b"")
        self.reply(*issuer.replies.get(self.path, found))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.reply(*self.server.handle("POST", self.path, self.headers, body))
