"""Random whole calls: a caller's key, a call, and the bytes that the upstream sends for it.

``inputs`` is the file format, ``generate`` makes and changes inputs, ``upstream`` sends their bytes over a socket,
``world`` makes the calls over Lambda events and over the local server, ``oracles`` judges the answers, ``minimise``
shortens an input that fails. ``../calls/`` has inputs with different outcomes. ``scripts/fuzz_calls.py`` runs it all.
"""
