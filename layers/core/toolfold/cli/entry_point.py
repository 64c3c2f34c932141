"""Start a command, and turn what it raises into a message and an exit code.

Exit codes: 0 success, 1 the call or check failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from toolfold.errors import CallError, ToolfoldError

_EXTRAS = {
    "yaml": "build",
    "pydantic": "build",
    "boto3": "aws",
    "botocore": "aws",
    "obstore": "aws",
    "aws_xray_sdk": "tracer",
    "uvicorn": "serve",
    "h11": "serve",
}
"""Module that an extra installs → the extra; see pyproject.toml."""

_DEPRECATED = {"sandbox": "mock-api"}
"""Former name of a command → its name. A former name works for one release."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: its name and arguments; by default those of the process.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["stdio"]:  # started by an agent that waits: argparse would take longer than the command
        return _exit_code(_serve_stdio)
    if arguments and arguments[0] in _DEPRECATED:
        name = _DEPRECATED[arguments[0]]
        print(f"`toolfold {arguments[0]}` is deprecated: use `toolfold {name}`.", file=sys.stderr)
        arguments[0] = name
    from toolfold.cli.parser import make_parser

    options = make_parser().parse_args(arguments)
    return _exit_code(lambda: options.run(options))


def _serve_stdio() -> int:
    from toolfold.transports import stdio

    return stdio.main()


def _exit_code(run: Callable[[], int]) -> int:
    """Return the exit code of ``run``, after printing the error that it raises to stderr."""
    try:
        code = run()
        sys.stdout.flush()
    except CallError as error:
        print(f"{error.code}: {error.message}\n{error.suggestion}", file=sys.stderr)
    except ToolfoldError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        print(f"This needs {package}: pip install 'toolfold[{_EXTRAS[package]}]'", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of stdout is gone. Python flushes stdout at exit and would report the broken pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        return code
    return 1
