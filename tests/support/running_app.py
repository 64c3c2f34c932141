"""Run an ASGI application on a port of this machine."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tests.support.waiting import wait_until


@contextmanager
def running_app(app: Any, *, lifespan: Literal["on", "off"] = "off") -> Iterator[str]:
    """Run ``app`` in a thread; yield its address."""
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan=lifespan))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)
