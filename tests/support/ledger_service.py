"""A FastAPI application with pages, public operations, and operations of an administrator with other credentials.

Imported by the tests that run it. Without ``from __future__ import annotations``, as ``shelter_service``.
"""

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.security import APIKeyHeader, HTTPBasic

KEY = "LEDGERKEY0123456"
ENTRIES = [{"id": number, "amount": number * 10} for number in range(1, 8)]

_key = Depends(APIKeyHeader(name="X-Ledger-Key"))


def create_app() -> FastAPI:
    """Return an application with seven entries."""
    app = FastAPI(title="Ledger", version="1.0")

    @app.get("/entries", dependencies=[_key])
    def list_entries(
        request: Request, response: Response, page: int = 1, size: Annotated[int, Query(ge=1, le=5)] = 3
    ) -> list[dict[str, Any]]:
        """List entries by page."""
        if page * size < len(ENTRIES):
            following = request.url.include_query_params(page=page + 1, size=size)
            response.headers["Link"] = f'<{request.url}>; rel="self", <{following}>; rel="next"; title="more, later"'
        return ENTRIES[(page - 1) * size : page * size]

    @app.get("/journal", dependencies=[_key])
    def read_journal(request: Request, response: Response) -> list[dict[str, Any]]:
        """Return the journal, whose pages have a cursor that the document does not mention."""
        response.headers["Link"] = f"<{request.url.include_query_params(cursor='abc')}>; rel=next"
        return ENTRIES[:1]

    @app.get("/status")
    def get_status(request: Request) -> dict[str, Any]:
        """Return whether the ledger is open, without a key."""
        return {"open": True, "key": request.headers.get("x-ledger-key")}

    @app.post("/audit", dependencies=[Depends(HTTPBasic())])
    def start_audit() -> str:
        """Start an audit."""
        return "started"

    return app
