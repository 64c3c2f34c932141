"""The command line: ``toolfold stdio | serve | call | catalog | sandbox | demo``.

Here is how a command starts and ends; ``commands`` has their names and options, ``catalog`` those that look into the
catalog, compile and publish it; ``found`` and ``speaking`` print. Each command imports what it needs when it runs, so
that ``--help`` is instant and ``stdio`` starts without the rest.

Exit codes: 0 done, 1 the call or check failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from toolfold.errors import CallError, ToolfoldError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if list(arguments) == ["stdio"]:  # an agent waits for it, and reading one word needs no parser
        return _ended(stdio)
    from toolfold.cli.commands import parser

    options = parser().parse_args(arguments)
    return _ended(lambda: options.run(options))


def stdio() -> int:
    """``toolfold stdio``."""
    from toolfold.settings import Settings
    from toolfold.transports import stdio

    stdio.run(Settings.from_environment())
    return 0


def _ended(run: Callable[[], int]) -> int:
    """The exit code of ``run``; what it raises becomes a message on stderr."""
    try:
        code = run()
        sys.stdout.flush()
    except CallError as error:
        print(f"{error.code}: {error.message}\n{error.suggestion}", file=sys.stderr)
    except ToolfoldError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        extra = {"yaml": "build", "pydantic": "build", "boto3": "aws", "obstore": "aws"}.get(error.name or "")
        if extra is None:
            raise
        print(f"This needs {error.name}: pip install 'toolfold[{extra}]'", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone. Python would find that out once more when it ends, and say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        return code
    return 1
