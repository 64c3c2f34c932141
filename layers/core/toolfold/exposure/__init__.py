"""Exposure: what ``tools/list`` shows on a path, and which call a name stands for there.

``profiles`` finds the profile of a path, ``resolution`` decides its mode and says why, ``modes`` has the entries of
each mode, ``cursor`` the places in a list of several pages, ``exposed_tools`` answers the requests. May import
``meta_tools`` and what it may; nothing here is imported for the path without a profile, unless the settings ask for it.
"""

__all__ = ["cursor", "exposed_tools", "modes", "profiles", "resolution", "stand_ins"]
