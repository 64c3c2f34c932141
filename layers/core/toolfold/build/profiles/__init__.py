"""Compile ``catalog/profiles.yaml``, and the definitions that ``tools/list`` answers with.

``definitions`` makes the definition of a single tool and those that stand for several; ``compiler`` has the models of
the file, decides which tools a condition matches, and joins all of them.
"""
