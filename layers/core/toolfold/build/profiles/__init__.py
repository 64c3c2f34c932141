"""Compile ``catalog/profiles.yaml``, and the definitions that ``tools/list`` answers with.

``schema`` has the models of the file, ``selection`` decides which tools a condition matches, ``definitions`` makes the
definition of a single tool, ``grouped`` and ``kinds`` those that stand for several, and ``compiler`` joins all of them.
May import what ``build`` may.
"""

__all__ = ["compiler", "definitions", "grouped", "kinds", "schema", "selection"]
