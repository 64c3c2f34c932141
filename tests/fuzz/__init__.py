"""Random input for everything that reads what strangers send: the protocol, and the reader of Lambda events.

``inputs`` is how an input is written down, ``target`` feeds one to the server and judges the answer, ``mutations``
makes new inputs out of old ones, ``corpus/`` holds the old ones. ``scripts/fuzz_wire.py`` runs them by the million.
"""
