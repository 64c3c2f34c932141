"""The command line ``toolfold``.

``entry_point`` starts and ends a command, and prints the ``ToolfoldError`` that says what it cannot do.
``commands.toml`` has the table of all commands; the module of a command is imported for that command alone. May import
every package; no package imports this one.
"""

from toolfold.cli.entry_point import main

__all__ = ["main"]
