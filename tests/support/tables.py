"""Tables of arguments and results that one test checks: a test for each row would take far longer than its rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def differences(function: Callable[..., Any], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Return the rows, each the arguments and the result, for which ``function`` has another result.

    A class of errors as the result stands for a call that raises it.

    >>> differences(int, [("5", 5), ("x", ValueError), ("6", 7)])
    {"['6']": 6}
    """
    found = {}
    for *arguments, expected in rows:
        try:
            result = function(*arguments)
            is_right = bool(result == expected)
        except Exception as error:  # noqa: BLE001 - that of a row is its result
            result, is_right = error, isinstance(expected, type) and isinstance(error, expected)
        if not is_right:
            found[repr(arguments)[:300]] = result
    return found


def accepted(function: Callable[[Any], Any], values: Iterable[Any], *errors: type[Exception]) -> list[Any]:
    """Return the values for which ``function`` raises none of ``errors``.

    >>> accepted(int, ["x", "5"], ValueError)
    ['5']
    """
    found = []
    for value in values:
        try:
            function(value)
        except errors:
            continue
        except Exception as error:
            error.add_note(f"for {value!r:.300}")
            raise
        found.append(value)
    return found
