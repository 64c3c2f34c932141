"""What the views of the web explorer read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.explorer.feed import CallFeed
    from toolfold.explorer.page_request import PageRequest

__all__ = ["Explorer"]


@dataclass(frozen=True)
class Explorer:
    """The objects behind the page, made once per process.

    Attributes:
        app: The objects that answer MCP requests.
        is_local: Whether ``toolfold ui`` serves the page, to the user of this machine; else it is deployed.
        calls_allowed: Whether the page may call tools.
        endpoint: URL of the MCP endpoint as its clients know it; empty: it follows from each request.
        feed: The calls of this process; None: they are not collected.
        log_file: A file of ``TOOLFOLD_CALL_LOG`` whose calls are shown as well; empty: none.
    """

    app: App
    is_local: bool
    calls_allowed: bool
    endpoint: str = ""
    feed: CallFeed | None = None
    log_file: str = ""

    @property
    def needs_token(self) -> bool:
        """Whether MCP requests need an access token of the issuer in the settings."""
        return self.app.authorization is not None

    def endpoint_for(self, request: PageRequest) -> str:
        """Return the URL of the MCP endpoint for clients."""
        if self.endpoint:
            return self.endpoint
        return f"https://{request.header('host') or 'localhost'}{request.base_path}/mcp"
