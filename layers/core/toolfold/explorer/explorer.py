"""What the views of the web explorer read."""

from __future__ import annotations

import contextlib
import functools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolfold.catalog.explanation import explain
from toolfold.errors import CallError
from toolfold.execution.api_keys import SecretProvider
from toolfold.local_defaults import with_local_defaults

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.catalog.model import Catalog
    from toolfold.execution.approval import ApprovalDesk
    from toolfold.explorer.feed import CallFeed
    from toolfold.explorer.page import PageRequest


def paid_sources(catalog: Catalog) -> frozenset[str]:
    """Return the ids of the sources that have a tool which is not free, also one that is not exposed here.

    A catalog calls a tool free where no source says otherwise.
    """
    base = catalog.base

    def find() -> frozenset[str]:
        access = base.positions_of("access")
        paid = {position for value, positions in access.items() if value != "free" for position in positions}
        sources = base.positions_of("source") if paid else {}
        return frozenset(id_ for id_, positions in sources.items() if not paid.isdisjoint(positions))

    return base.memoize("paid sources", find)


@dataclass(frozen=True)
class Explorer:
    """The objects behind the page, made once per process.

    Attributes:
        app: The objects that answer MCP requests.
        is_local: Whether ``toolfold ui`` serves the page, to the user of this machine; else it is deployed.
        calls_allowed: Whether the page may call tools.
        endpoint: URL of the MCP endpoint as its clients know it; empty: it follows from each request.
        feed: The calls of this process, or of a log; None: they are not collected.
    """

    app: App
    is_local: bool
    calls_allowed: bool
    endpoint: str = ""
    feed: CallFeed | None = None

    @property
    def needs_token(self) -> bool:
        """Whether MCP requests need an access token of the issuer in the settings."""
        return self.app.authorization is not None

    def catalog(self) -> Catalog:
        """Return what the path without a profile exposes of the current catalog."""
        return self.app.server.tools.catalog()

    def warm_up(self) -> None:
        """Prepare the first search, in a thread of its own: it takes a hundred times as long as others."""

        def prepare() -> None:
            with contextlib.suppress(CallError):  # a request of the page reports it
                explain(self.catalog(), "a", 1)

        threading.Thread(target=prepare, name="explorer", daemon=True).start()

    @functools.cached_property
    def approval_desk(self) -> ApprovalDesk:
        """What finds waiting calls and records decisions, made by the first request for it."""
        from toolfold.execution.approval import ApprovalDesk

        app = self.app
        secrets = SecretProvider(app.aws, app.settings.secret_ttl_s, app.settings.secret_timeout_s)
        return ApprovalDesk(with_local_defaults(app.settings), app.aws, secrets.get_secret)

    def endpoint_for(self, request: PageRequest) -> str:
        """Return the URL of the MCP endpoint for clients."""
        if self.endpoint:
            return self.endpoint
        return f"https://{request.header('host') or 'localhost'}{request.base_path}/mcp"
