"""Random input for everything that parses untrusted data: the protocol, and the parser of Lambda events.

``inputs`` is the file format of an input, ``target`` sends one to the server and checks the response, ``mutations``
derives new inputs from old ones, ``corpus/`` has the old ones. ``make fuzz`` runs many.
"""
