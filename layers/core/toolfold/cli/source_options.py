"""Options that several kinds of ``toolfold source add`` have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add_auth", "add_common", "auth_of"]


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what every kind has."""
    parser.add_argument("--title", metavar="TEXT", help="name for people (default: the id in words)")
    parser.add_argument("--description", metavar="TEXT", help="what a model reads about the source")
    parser.add_argument("--folder", type=Path, default=Path("catalog"), help="folder of the sources (default catalog)")


def add_auth(parser: argparse.ArgumentParser) -> None:
    """Add how a key is sent. The key itself is in a variable, never in the catalog."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--bearer", action="store_true", help="the key is sent as Authorization: Bearer")
    place.add_argument("--basic", action="store_true", help="the key is user:password, sent as Authorization: Basic")
    place.add_argument("--header", metavar="NAME", help="the key is sent in this header")
    place.add_argument("--query-key", metavar="NAME", help="the key is sent in this parameter of the URL")
    parser.add_argument(
        "--key-variable",
        metavar="NAME",
        help="variable with the key (default TOOLFOLD_SOURCE_<ID>_KEY); with a command, the one that the program reads",
    )
    parser.add_argument("--caller-key", action="store_true", help="callers may send a key of their own")


def auth_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return ``auth`` of source.yaml; empty for a source without a key."""
    given = {name: getattr(options, name, None) for name in ("bearer", "basic", "header", "query_key", "caller_key")}
    auth: dict[str, Any] = {name: value for name, value in given.items() if value}
    if variable := getattr(options, "key_variable", None):
        auth["environment"] = variable
    return auth
