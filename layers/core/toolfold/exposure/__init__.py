"""Exposure: what ``tools/list`` shows on a path, and which call a name stands for there.

``profiles`` finds the profile of a path, decides its mode and why, lists and reads what the mode has, and answers the
requests; ``research`` those of ``search`` and ``fetch``. Nothing here is imported for the path without a profile,
unless the settings ask for it.
"""
