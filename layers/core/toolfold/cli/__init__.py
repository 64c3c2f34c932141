"""The command line ``toolfold``.

``entry_point`` starts and ends a command, ``parser`` has all options, and each command has a module of its own, which
imports what it needs when it runs. May import every package; no package imports this one.
"""

from toolfold.cli.entry_point import main

__all__ = ["main"]
