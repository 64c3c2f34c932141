"""One request to a service of AWS, and the shortest answer to it."""

from __future__ import annotations

from typing import Any

from toolfold.aws import clients

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def ask(timeout_s: float = 5.0, region: str = "") -> dict[str, Any]:
    return clients.ask("dynamodb", "ListTables", {}, timeout_s, region)
