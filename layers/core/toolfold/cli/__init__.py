"""The command line ``toolfold``.

``entry_point`` starts and ends a command, ``parser`` has the table of all commands, and each has a module of its own,
which is imported for that command alone. May import every package; no package imports this one.
"""

from toolfold.cli.entry_point import main

__all__ = ["main"]
