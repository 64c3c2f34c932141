"""Compile ``catalog/profiles.yaml``, and the definitions that ``tools/list`` answers with.

``schema`` has the models of the file, ``definitions`` makes the definition of a single tool and those that stand for
several; ``compiler`` decides which tools a condition matches, and joins all of them. May import what ``build`` may.
"""
