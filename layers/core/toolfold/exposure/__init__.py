"""Exposure: what ``tools/list`` shows on a path, and which call a name stands for there.

``profiles`` finds the profile of a path, ``exposed_tools`` decides its mode and why, has the entries of each mode and
answers the requests, and ``research`` those of ``search`` and ``fetch``. Nothing here is
imported for the path without a profile, unless the settings ask for it.
"""
