"""Start ``toolfold ui`` as a user does: a process that prints an address with a token."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.conformance.helpers import TOOLFOLD, start_server


@dataclass(frozen=True)
class Explorer:
    """A running ``toolfold ui``.

    Attributes:
        entry: the address that was printed, with its token.
        log: what the process prints.
    """

    entry: str
    log: Path

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.entry)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def mcp(self) -> str:
        """The address for MCP clients."""
        return f"{self.origin}/mcp"

    def view(self, route: str) -> str:
        """Return the address of a view, for a browser that has the cookie."""
        return f"{self.origin}/#/{route}"


@contextmanager
def running_explorer(folder: Path, port: int = 0, options: Sequence[str] = (), **variables: str) -> Iterator[Explorer]:
    """Run ``toolfold ui`` until the end of the ``with`` statement; check that its log has no traceback.

    Args:
        folder: an empty one, which becomes the home of the process.
        port: the port; 0: any free one.
        options: further words of the command.
        variables: the environment, beside the path and the home.
    """
    log = folder / "log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1", **variables}
    command = [TOOLFOLD, "ui", "--no-open", "--port", str(port), *options]
    with start_server(command, env=environment, log=log) as entry:
        yield Explorer(entry, log)
    assert "Traceback" not in log.read_text(), log.read_text()
