"""Sources that are HTTP APIs: ``adapter`` sends the requests of a ``binding``.

``response_parser`` separates data from failures, ``faults`` finds what a response says, and ``transport_errors`` words
the failures of connections.
"""
