"""Types of options, and what the commands that listen on a port share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from toolfold.errors import ToolfoldError

T = TypeVar("T")


def port_number(text: str) -> int:
    """Parse a port, 0 for any free one."""
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def whole_number(text: str) -> int:
    """Parse a whole number from 0."""
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def listen(make_server: Callable[[], T], port: int, hint: str = "") -> T:
    """Return the server that ``make_server`` makes.

    Raises:
        ToolfoldError: the port is taken or not allowed.
    """
    try:
        return make_server()
    except OSError as error:
        step = hint or "Choose another with --port."
        raise ToolfoldError(f"Port {port} cannot be used: {error.strerror}. {step}") from None
