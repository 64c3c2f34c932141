"""Read the parameters of a query, each with its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.explorer.answers import ApiProblem

if TYPE_CHECKING:
    from toolfold.explorer.page_request import PageRequest

__all__ = ["invalid", "read_integer", "read_text"]


def invalid(message: str, next_step: str) -> ApiProblem:
    """Return the error for a request that cannot be answered as it is."""
    return ApiProblem(400, "INVALID_REQUEST", message, next_step)


def read_text(request: PageRequest, name: str, max_chars: int, *, is_required: bool = False) -> str:
    """Return a parameter without outer spaces; empty where it is missing.

    Raises:
        ApiProblem: It is too long; or it is missing, and required.
    """
    text = request.query.get(name, "").strip()
    if is_required and not text:
        raise invalid(f"The parameter {name} is missing.", f"Send ?{name}=….")
    if len(text) > max_chars:
        raise invalid(f"The parameter {name} has {len(text):,} characters.", f"Send at most {max_chars:,} characters.")
    return text


def read_integer(request: PageRequest, name: str, default: int, maximum: int, minimum: int = 0) -> int:
    """Return a parameter that is a number of at least ``minimum``; numbers above ``maximum`` become that.

    Raises:
        ApiProblem: It has another form.
    """
    text = request.query.get(name, "")
    if text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 15 and int(text) >= minimum):
        raise invalid(f"The parameter {name} must be a number from {minimum}.", f"Send a number, such as {default}.")
    return min(int(text), maximum)
