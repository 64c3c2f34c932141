"""Exposure: what ``tools/list`` shows on a path, and which call a name stands for there.

``profiles`` finds the profile of a path, decides its mode and why, and answers the requests, ``modes`` has what each
mode lists and says, and ``research`` the requests of ``search`` and ``fetch``. Nothing here is imported for the path
without a profile, unless the settings ask for it.
"""
