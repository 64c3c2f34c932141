"""Random whole calls: a caller's key, a call, and the bytes that the upstream sends for it.

``inputs`` is the file format, ``generate`` has the strategies, ``upstream`` sends the bytes of an input over a socket,
``world`` makes the calls over Lambda events and over the local server, ``oracles`` judges the answers. ``../calls/``
has inputs with different outcomes. ``make fuzz-calls`` runs many.
"""
